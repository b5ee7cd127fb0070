/*
 * Lists the devices: none of ours may be there without configuration, and then the call succeeds
 * all the same. Prints nothing if all is well.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  for (int round = 0; round < 2; ++round) {
    int count = -1;
    errno = EDOM;
    struct ibv_device** list = ibv_get_device_list(&count);
    if (list == NULL || errno != 0) {
      printf("ibv_get_device_list: %p, %s\n", (void*)list, strerror(errno));
      return 1;
    }
    int found = 0;
    for (; list[found] != NULL; ++found) {
      if (strncmp(ibv_get_device_name(list[found]), "mrc", 3) == 0) return 1;
    }
    if (found != count) {
      printf("%d devices, but a count of %d\n", found, count);
      return 1;
    }
    ibv_free_device_list(list);
  }
  return 0;
}

/* A library that nothing but a RUNPATH leads to (runpath_caller.c). */
int neighbour(void);
int neighbour(void) { return 0; }

#!/usr/bin/env python3
"""Writes the parser's seed corpus: one file per golden packet, named after it, holding its frame.

usage: make-fuzz-corpus.py [VECTORS [FOLDER]]
"""
import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
vectors = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "test/vectors/packets.json")
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else root / "test/fuzz/corpus/parser")

folder.mkdir(parents=True, exist_ok=True)
for packet in json.loads(vectors.read_text()):
    (folder / packet["name"]).write_bytes(bytes.fromhex(packet["frame"]))

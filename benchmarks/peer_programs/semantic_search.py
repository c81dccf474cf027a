"""The k nearest neighbours in both directions by sentence-transformers: python semantic_search.py A.npy B.npy K OUT.npz"""

import sys

import numpy as np
from sentence_transformers import util
from torch import from_numpy

a, b = (from_numpy(np.load(path)) for path in sys.argv[1:3])
k = int(sys.argv[3])
found = (util.semantic_search(x, y, top_k=k) for x, y in ((a, b), (b, a)))
ids = [np.array([[hit["corpus_id"] for hit in hits] for hits in way]) for way in found]
np.savez(sys.argv[4], forward=ids[0], backward=ids[1])

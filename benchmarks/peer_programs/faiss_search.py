"""The k nearest neighbours in both directions by faiss: python faiss_search.py A.npy B.npy K OUT.npz"""

import sys

import faiss
import numpy as np

a, b = (np.load(path) for path in sys.argv[1:3])
for side in (a, b):
    faiss.normalize_L2(side)
k = int(sys.argv[3])
ids = [faiss.knn(x, y, k, metric=faiss.METRIC_INNER_PRODUCT)[1] for x, y in ((a, b), (b, a))]
np.savez(sys.argv[4], forward=ids[0], backward=ids[1])

"""Searches the vectors of BenchmarkHNSW with hnswlib and faiss, in one thread, and prints a table in Markdown.

    pip install hnswlib faiss-cpu
    mkdir /tmp/vectors
    HOPGATE_BENCH_VECTORS=50000 HOPGATE_BENCH_DIMENSIONS=128 HOPGATE_BENCH_WRITE=/tmp/vectors go test -bench HNSW -run '^$' ./bench/search
    python bench/search/beside_vectors.py /tmp/vectors 128

The answers are those of Hopgate's exact search, so the recall of faiss's flat index shows that the vectors are the same.
"""

import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import faiss  # noqa: E402
import hnswlib  # noqa: E402
import numpy  # noqa: E402

M, EF_CONSTRUCTION, EF, K = 16, 100, 200, 10


def use_hnswlib(vectors):
    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), ef_construction=EF_CONSTRUCTION, M=M)
    index.add_items(vectors, num_threads=1)
    index.set_ef(EF)
    return lambda q: index.knn_query(q, k=K, num_threads=1)[0][0]


def use_faiss(vectors):
    index = faiss.IndexHNSWFlat(vectors.shape[1], M, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = EF_CONSTRUCTION
    index.hnsw.efSearch = EF
    index.add(vectors)
    return lambda q: index.search(q, K)[1][0]


def use_flat(vectors):
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return lambda q: index.search(q, K)[1][0]


def main():
    faiss.omp_set_num_threads(1)
    directory, dimensions = sys.argv[1], int(sys.argv[2])

    def read(name, kind, width):
        return numpy.fromfile(os.path.join(directory, name), dtype=kind).reshape(-1, width)

    vectors, queries = read("vectors", "<f4", dimensions), read("queries", "<f4", dimensions)
    answers = read("answers", "<u4", K)
    queries = queries / numpy.linalg.norm(queries, axis=1, keepdims=True)
    engines = [
        ("hnswlib " + getattr(hnswlib, "__version__", ""), use_hnswlib),
        ("faiss " + faiss.__version__ + " HNSW", use_faiss),
        ("faiss " + faiss.__version__ + " flat", use_flat),
    ]
    print("| engine | built/s | recall@10 | p50 µs | p99 µs |\n|---|--:|--:|--:|--:|")
    for name, use in engines:
        begin = time.perf_counter()
        search = use(vectors)
        rate = len(vectors) / (time.perf_counter() - begin)
        found, times = 0, []
        for i in range(1000):
            q = queries[i % len(queries)][None, :]
            begin = time.perf_counter()
            got = search(q)
            times.append(time.perf_counter() - begin)
            if i < len(queries):
                found += len(set(map(int, got)) & set(map(int, answers[i])))
        times.sort()
        print(f"| {name} | {rate:,.0f} | {found / answers.size:.3f} | {times[500] * 1e6:.0f} | {times[990] * 1e6:.0f} |")


main()

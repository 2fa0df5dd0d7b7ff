# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of each format of pair tables, whole and short.

The numbers of nccl-tests are of xxrjun/nccl-tests-cluster (455de4f8, benchmarks/example-cluster01, pairwise),
those of perftest of HewlettPackard/shs-docs (ef07c6ce, performance/perftest.md) and Azure/aks-rdma-infiniband
(tests/expected-output.md), of dgnettest likewise (fabric_validation and
troubleshoot). mpiGraph 1.5 (LLNL, 5f6cbd98) was run for this.
"""

from tests.matrices.made import clusterkit_text, csv_text, matrix

CSV_ROWS = """\
# unit: GB/s, larger is better
# pairs: alone
# made by hand
from,to,value
a,b,12.5
b,a,12.1
a,b,12.4
"""
CSV_MATRIX = csv_text(matrix(4, 1), "pairs: alone")
CLUSTERKIT = clusterkit_text(matrix(6, 1, usual=42000.0))
NCCL_HEAD = """\
# nccl-tests version 2.17.8 nccl-headers=22902 nccl-library=22902
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 1 minBytes 4294967296 maxBytes 17179869184 step: 2(factor) warmup iters: 5 iters: 20 \
agg iters: 1
#
# Using devices
"""
NCCL_TITLES = """\
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""  # noqa: E501  (one line of output)
NCCL = (
    NCCL_HEAD
    + """\
#  Rank  0 Group  0 Pid 2210029 on cnode3-002 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 948885 on cnode3-003 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
"""
    + NCCL_TITLES
    + """\
  4294967296     536870912    double     sum      -1  98169.3   43.75   43.75       0  98146.9   43.76   43.76    N/A
  8589934592    1073741824    double     sum      -1   196355   43.75   43.75       0   196344   43.75   43.75    N/A
 17179869184    2147483648    double     sum      -1   392397   43.78   43.78       0   392571   43.76   43.76    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 43.7587
#
# Collective test concluded: sendrecv_perf
"""  # noqa: E501  (one line of output)
    + NCCL_HEAD
    + """\
#  Rank  0 Group  0 Pid 2211029 on cnode3-002 device  0 [0000:43:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 1374218 on cnode3-004 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
"""
    + NCCL_TITLES
    + """\
  4294967296     536870912    double     sum      -1   109587   39.19   39.19       0   109602   39.19   39.19    N/A
  8589934592    1073741824    double     sum      -1   219269   39.18   39.18       0   219247   39.18   39.18    N/A
 17179869184    2147483648    double     sum      -1   434164   39.57   39.57       0   437601   39.26   39.26    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 39.2605
#
# Collective test concluded: sendrecv_perf
"""  # noqa: E501  (one line of output)
)
MPIGRAPH = """\
START mpiGraph v1.5
MsgSize\t4096
Times\t10
Window\t10
Procs\t3

1 of 3 (33.3%)
2 of 3 (66.7%)
Gathering results

Send max\t2767.445993
Send avg\t143.154372

Send\tn0:0\tn1:1\tn2:2\t
n0:0 to\t0.000\t392.922\t1993.768\t
n1:1 to\t2757.658\t0.000\t434.168\t
n2:2 to\t27.903\t2767.446\t0.000\t

Recv max\t1418.643846
Recv avg\t6.804284

Recv\tn0:0\tn1:1\tn2:2\t
n0:0 from\t0.000\t3.358\t2.848\t
n1:1 from\t373.312\t0.000\t8.339\t
n2:2 from\t1418.644\t9.124\t0.000\t
END mpiGraph
"""
PERFTEST = """\
# node1 -> node2
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0e1f PSN 0xe0cb8a
 remote address: LID 0000 QPN 0x0de1 PSN 0xa84f9b
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      560960           0.00               98.03              0.186977
---------------------------------------------------------------------------------------
# node2 -> node1
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0e1d PSN 0xd0b406
 remote address: LID 0000 QPN 0x0dde PSN 0xd0b41a
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      560882           0.00               98.02              0.186951
---------------------------------------------------------------------------------------
"""
PERFTEST_LATENCY = """\
=== node1:mlx5_1 -> node2:mlx5_1 ===
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          5.35           11.78        5.49               5.50           0.18            5.74                   11.78
---------------------------------------------------------------------------------------
"""  # noqa: E501
DGNETTEST = """\
nprocs=56 sets=1 maxbytes=131072 ppn=8
Test      Iter    Bytes      Min     Mean      Max      Dev       CV
loopback     4   131072     4235     7243     9145     1523     21.0%
Per node bandwidth stats
nid000022    4   131072     7900     8570     9039      596      7.0%   result is high
nid000023    4   131072     6223     6494     6823      304      4.7%    result is low
dgnettest has FAILED
"""

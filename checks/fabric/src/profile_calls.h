// SPDX-License-Identifier: BSD-3-Clause
/*
 * The table of the calls that are profiled; it has no guard because it is included
 * several times: for their numbers, their names, and the functions themselves, once
 * with `int` and once with MPI_Count where the library has those (MPI_Send_c).
 *
 *   CALL(name, parameters, arguments, note)               one function
 *   PERSISTENT(name, start, ...)                          makes a request that MPI_Start starts; noted as `start` then
 *   COLLECTIVE(name, lower, ...)                          name, Iname, and name_init of MPI 4
 *   ONE_SIDED(name, lower, ...)                           name and Rname
 *
 * COUNT and DISPL are the types of counts and of displacements of arrays. `note` is
 * what is noted when the call has ended well: one of the functions of profile_notes.h,
 * with `at` for the call itself.
 */
/* clang-format off */

/* Point to point: a send counts its message; a receive the buffer that it offers. */
#define TO (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
#define TO_ARGUMENTS (buf, count, type, dest, tag, comm)
#define TO_LATER (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
#define TO_LATER_ARGUMENTS (buf, count, type, dest, tag, comm, request)
CALL(Send, TO, TO_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Bsend, TO, TO_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Ssend, TO, TO_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Rsend, TO, TO_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Isend, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Ibsend, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Issend, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Irsend, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
PERSISTENT(Send_init, Send_start, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
PERSISTENT(Bsend_init, Bsend_start, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
PERSISTENT(Ssend_init, Ssend_start, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
PERSISTENT(Rsend_init, Rsend_start, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Recv, (void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status),
     (buf, count, type, source, tag, comm, status), offered(at, comm, source, extent(count, type)))
CALL(Irecv, (void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, type, source, tag, comm, request), offered(at, comm, source, extent(count, type)))
PERSISTENT(Recv_init, Recv_start,
     (void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, type, source, tag, comm, request), offered(at, comm, source, extent(count, type)))
CALL(Mrecv, (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
     (buf, count, type, message, status), alone(at, extent(count, type)))
CALL(Imrecv, (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
     (buf, count, type, message, request), alone(at, extent(count, type)))
CALL(Sendrecv, (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, void *into, COUNT room,
      MPI_Datatype into_type, int source, int into_tag, MPI_Comm comm, MPI_Status *status),
     (buf, count, type, dest, tag, into, room, into_type, source, into_tag, comm, status),
     sent(at, comm, dest, extent(count, type)))
CALL(Sendrecv_replace, (void *buf, COUNT count, MPI_Datatype type, int dest, int tag, int source, int into_tag,
      MPI_Comm comm, MPI_Status *status),
     (buf, count, type, dest, tag, source, into_tag, comm, status), sent(at, comm, dest, extent(count, type)))
#if HAS_MPI_4
CALL(Isendrecv, (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, void *into, COUNT room,
      MPI_Datatype into_type, int source, int into_tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, type, dest, tag, into, room, into_type, source, into_tag, comm, request),
     sent(at, comm, dest, extent(count, type)))
CALL(Isendrecv_replace, (void *buf, COUNT count, MPI_Datatype type, int dest, int tag, int source, int into_tag,
      MPI_Comm comm, MPI_Request *request),
     (buf, count, type, dest, tag, source, into_tag, comm, request), sent(at, comm, dest, extent(count, type)))
#endif

/* Collectives. The size is that of a block; the bytes are what this process hands over. */
COLLECTIVE(Bcast, bcast, (void *buf, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
     (buf, count, type, root, comm), blocks(at, comm, root == MPI_PROC_NULL ? 0 : extent(count, type), sends(comm, root)))
COLLECTIVE(Gather, gather, (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room,
      MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, count, type, into, room, into_type, root, comm),
     blocks(at, comm, root == MPI_PROC_NULL ? 0 : root == MPI_ROOT || buf == MPI_IN_PLACE ? extent(room, into_type) : extent(count, type), root >= 0))
COLLECTIVE(Gatherv, gatherv, (const void *buf, COUNT count, MPI_Datatype type, void *into, const COUNT rooms[],
      const DISPL displs[], MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, count, type, into, rooms, displs, into_type, root, comm),
     blocks(at, comm, root < 0 ? 0 : buf == MPI_IN_PLACE ? extent(rooms[root], into_type) : extent(count, type), root >= 0))
COLLECTIVE(Scatter, scatter, (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room,
      MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, count, type, into, room, into_type, root, comm),
     blocks(at, comm, root == MPI_PROC_NULL ? 0 : sends(comm, root) ? extent(count, type) : extent(room, into_type), sends(comm, root) ? others_in(comm) : 0))
COLLECTIVE(Scatterv, scatterv, (const void *buf, const COUNT counts[], const DISPL displs[], MPI_Datatype type,
      void *into, COUNT room, MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, counts, displs, type, into, room, into_type, root, comm),
     scattered(at, comm, sends(comm, root) ? total(comm, counts, type) : root == MPI_PROC_NULL ? 0 : extent(room, into_type), sends(comm, root)))
COLLECTIVE(Allgather, allgather, (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room,
      MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, room, into_type, comm),
     blocks(at, comm, buf == MPI_IN_PLACE ? extent(room, into_type) : extent(count, type), 1))
COLLECTIVE(Allgatherv, allgatherv, (const void *buf, COUNT count, MPI_Datatype type, void *into, const COUNT rooms[],
      const DISPL displs[], MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, rooms, displs, into_type, comm),
     blocks(at, comm, buf == MPI_IN_PLACE ? extent(rooms[rank_in(comm)], into_type) : extent(count, type), 1))
COLLECTIVE(Alltoall, alltoall, (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room,
      MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, room, into_type, comm),
     blocks(at, comm, buf == MPI_IN_PLACE ? extent(room, into_type) : extent(count, type), others_in(comm)))
COLLECTIVE(Alltoallv, alltoallv, (const void *buf, const COUNT counts[], const DISPL displs[], MPI_Datatype type,
      void *into, const COUNT rooms[], const DISPL into_displs[], MPI_Datatype into_type, MPI_Comm comm),
     (buf, counts, displs, type, into, rooms, into_displs, into_type, comm),
     varied(at, comm, buf == MPI_IN_PLACE ? total(comm, rooms, into_type) : total(comm, counts, type)))
COLLECTIVE(Alltoallw, alltoallw, (const void *buf, const COUNT counts[], const DISPL displs[],
      const MPI_Datatype types[], void *into, const COUNT rooms[], const DISPL into_displs[],
      const MPI_Datatype into_types[], MPI_Comm comm),
     (buf, counts, displs, types, into, rooms, into_displs, into_types, comm),
     varied(at, comm, buf == MPI_IN_PLACE ? total_of_types(comm, rooms, into_types) : total_of_types(comm, counts, types)))
COLLECTIVE(Reduce, reduce, (const void *buf, void *into, COUNT count, MPI_Datatype type, MPI_Op op, int root,
      MPI_Comm comm),
     (buf, into, count, type, op, root, comm), blocks(at, comm, root == MPI_PROC_NULL ? 0 : extent(count, type), root >= 0))
#define REDUCED (const void *buf, void *into, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
COLLECTIVE(Allreduce, allreduce, REDUCED, (buf, into, count, type, op, comm), blocks(at, comm, extent(count, type), 1))
COLLECTIVE(Scan, scan, REDUCED, (buf, into, count, type, op, comm), blocks(at, comm, extent(count, type), 1))
COLLECTIVE(Exscan, exscan, REDUCED, (buf, into, count, type, op, comm), blocks(at, comm, extent(count, type), 1))
COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, REDUCED, (buf, into, count, type, op, comm),
     blocks(at, comm, extent(count, type) * here_in(comm), 1))
COLLECTIVE(Reduce_scatter, reduce_scatter, (const void *buf, void *into, const COUNT rooms[], MPI_Datatype type,
      MPI_Op op, MPI_Comm comm),
     (buf, into, rooms, type, op, comm), blocks(at, comm, total_here(comm, rooms, type), 1))
COLLECTIVE(Neighbor_allgather, neighbor_allgather, (const void *buf, COUNT count, MPI_Datatype type, void *into,
      COUNT room, MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, room, into_type, comm), neighbours(at, comm, extent(count, type)))
COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, (const void *buf, COUNT count, MPI_Datatype type, void *into,
      const COUNT rooms[], const DISPL displs[], MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, rooms, displs, into_type, comm), neighbours(at, comm, extent(count, type)))
COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, (const void *buf, COUNT count, MPI_Datatype type, void *into,
      COUNT room, MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, room, into_type, comm), neighbours(at, comm, extent(count, type)))
COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, (const void *buf, const COUNT counts[], const DISPL displs[],
      MPI_Datatype type, void *into, const COUNT rooms[], const DISPL into_displs[], MPI_Datatype into_type,
      MPI_Comm comm),
     (buf, counts, displs, type, into, rooms, into_displs, into_type, comm),
     neighbours_varied(at, comm, total_out(comm, counts, type)))
COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, (const void *buf, const COUNT counts[], const MPI_Aint displs[],
      const MPI_Datatype types[], void *into, const COUNT rooms[], const MPI_Aint into_displs[],
      const MPI_Datatype into_types[], MPI_Comm comm),
     (buf, counts, displs, types, into, rooms, into_displs, into_types, comm),
     neighbours_varied(at, comm, total_out_of_types(comm, counts, types)))

/* One-sided: what the origin's buffer holds, or takes in. */
ONE_SIDED(Put, put, (const void *buf, COUNT count, MPI_Datatype type, int rank, MPI_Aint disp, COUNT room,
      MPI_Datatype room_type, MPI_Win win),
     (buf, count, type, rank, disp, room, room_type, win), put(at, win, rank, extent(count, type)))
ONE_SIDED(Get, get, (void *buf, COUNT count, MPI_Datatype type, int rank, MPI_Aint disp, COUNT room,
      MPI_Datatype room_type, MPI_Win win),
     (buf, count, type, rank, disp, room, room_type, win), in_window(at, win, extent(count, type)))
ONE_SIDED(Accumulate, accumulate, (const void *buf, COUNT count, MPI_Datatype type, int rank, MPI_Aint disp,
      COUNT room, MPI_Datatype room_type, MPI_Op op, MPI_Win win),
     (buf, count, type, rank, disp, room, room_type, op, win), put(at, win, rank, extent(count, type)))
ONE_SIDED(Get_accumulate, get_accumulate, (const void *buf, COUNT count, MPI_Datatype type, void *into,
      COUNT into_count, MPI_Datatype into_type, int rank, MPI_Aint disp, COUNT room, MPI_Datatype room_type,
      MPI_Op op, MPI_Win win),
     (buf, count, type, into, into_count, into_type, rank, disp, room, room_type, op, win),
     put(at, win, rank, extent(into_count, into_type)))

#ifdef ONCE
CALL(Fetch_and_op, (const void *buf, void *into, MPI_Datatype type, int rank, MPI_Aint disp, MPI_Op op, MPI_Win win),
     (buf, into, type, rank, disp, op, win), put(at, win, rank, extent(1, type)))
CALL(Compare_and_swap, (const void *buf, const void *expected, void *into, MPI_Datatype type, int rank,
      MPI_Aint disp, MPI_Win win),
     (buf, expected, into, type, rank, disp, win), put(at, win, rank, extent(1, type)))
CALL(Win_fence, (int assertion, MPI_Win win), (assertion, win), in_window(at, win, 0))
CALL(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win), in_window(at, win, 0))
CALL(Win_complete, (MPI_Win win), (win), in_window(at, win, 0))
CALL(Win_post, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win), in_window(at, win, 0))
CALL(Win_wait, (MPI_Win win), (win), in_window(at, win, 0))
CALL(Win_test, (MPI_Win win, int *flag), (win, flag), in_window(at, win, 0))
CALL(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win), in_window(at, win, 0))
CALL(Win_lock_all, (int assertion, MPI_Win win), (assertion, win), in_window(at, win, 0))
CALL(Win_unlock, (int rank, MPI_Win win), (rank, win), in_window(at, win, 0))
CALL(Win_unlock_all, (MPI_Win win), (win), in_window(at, win, 0))
CALL(Win_flush, (int rank, MPI_Win win), (rank, win), in_window(at, win, 0))
CALL(Win_flush_all, (MPI_Win win), (win), in_window(at, win, 0))
CALL(Win_flush_local, (int rank, MPI_Win win), (rank, win), in_window(at, win, 0))
CALL(Win_flush_local_all, (MPI_Win win), (win), in_window(at, win, 0))
CALL(Win_sync, (MPI_Win win), (win), in_window(at, win, 0))
CALL(Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
     (base, size, unit, info, comm, win), blocks(at, comm, 0, 0))
CALL(Win_allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
     (size, unit, info, comm, base, win), blocks(at, comm, 0, 0))
CALL(Win_allocate_shared, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
     (size, unit, info, comm, base, win), blocks(at, comm, 0, 0))
CALL(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win), blocks(at, comm, 0, 0))

/* Of partitioned messages the start counts; a partition is part of it. */
#if HAS_MPI_4
PERSISTENT(Psend_init, Psend_start, (const void *buf, int partitions, MPI_Count count, MPI_Datatype type, int dest,
      int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (buf, partitions, count, type, dest, tag, comm, info, request),
     sent(at, comm, dest, partitions * extent(count, type)))
PERSISTENT(Precv_init, Precv_start, (void *buf, int partitions, MPI_Count count, MPI_Datatype type, int source,
      int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request),
     (buf, partitions, count, type, source, tag, comm, info, request),
     offered(at, comm, source, partitions * extent(count, type)))
CALL(Pready, (int partition, MPI_Request request), (partition, request), alone(at, 0))
CALL(Pready_range, (int first, int last, MPI_Request request), (first, last, request), alone(at, 0))
CALL(Pready_list, (int length, PARTITIONS partitions, MPI_Request request), (length, partitions, request), alone(at, 0))
CALL(Parrived, (MPI_Request request, int partition, int *flag), (request, partition, flag), alone(at, 0))
#endif

/* What only waits, or asks. */
CALL(Barrier, (MPI_Comm comm), (comm), blocks(at, comm, 0, 0))
CALL(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request), blocks(at, comm, 0, 0))
#if HAS_MPI_4
PERSISTENT(Barrier_init, Barrier_start, (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request),
     blocks(at, comm, 0, 0))
#endif
CALL(Wait, (MPI_Request *request, MPI_Status *status), (request, status), alone(at, 0))
CALL(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status), (count, requests, index, status), alone(at, 0))
CALL(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses), alone(at, 0))
CALL(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), alone(at, 0))
CALL(Test, (MPI_Request *request, int *flag, MPI_Status *status), (request, flag, status), alone(at, 0))
CALL(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status), alone(at, 0))
CALL(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]), (count, requests, flag, statuses), alone(at, 0))
CALL(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), alone(at, 0))
CALL(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status), (source, tag, comm, status), blocks(at, comm, 0, 0))
CALL(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (source, tag, comm, flag, status), blocks(at, comm, 0, 0))
CALL(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, message, status), blocks(at, comm, 0, 0))
CALL(Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, flag, message, status), blocks(at, comm, 0, 0))

/* What makes communicators: all of its processes meet there. */
CALL(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made), blocks(at, comm, 0, 0))
CALL(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made), blocks(at, comm, 0, 0))
CALL(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request), blocks(at, comm, 0, 0))
CALL(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), (comm, colour, key, made), blocks(at, comm, 0, 0))
CALL(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made), (comm, kind, key, info, made), blocks(at, comm, 0, 0))
CALL(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), blocks(at, comm, 0, 0))
CALL(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made), blocks(at, comm, 0, 0))
CALL(Cart_create, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *made),
     (comm, ndims, dims, periods, reorder, made), blocks(at, comm, 0, 0))
CALL(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made), blocks(at, comm, 0, 0))
CALL(Graph_create, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made),
     (comm, nodes, index, edges, reorder, made), blocks(at, comm, 0, 0))
CALL(Dist_graph_create, (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
      const int weights[], MPI_Info info, int reorder, MPI_Comm *made),
     (comm, n, sources, degrees, destinations, weights, info, reorder, made), blocks(at, comm, 0, 0))
CALL(Dist_graph_create_adjacent, (MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
      const int destinations[], const int out_weights[], MPI_Info info, int reorder, MPI_Comm *made),
     (comm, in, sources, in_weights, out, destinations, out_weights, info, reorder, made), blocks(at, comm, 0, 0))
CALL(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm *made),
     (comm, leader, peers, remote, tag, made), blocks(at, comm, 0, 0))
CALL(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made), blocks(at, comm, 0, 0))
#endif
/* clang-format on */

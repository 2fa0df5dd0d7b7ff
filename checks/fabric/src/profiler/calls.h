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
 *   TRACED(..., note, trace), TRACED_PERSISTENT, TRACED_COLLECTIVE   the same (a collective: name alone) with what a
 *                                                         trace has of it; the others end a trace (trace.h)
 *   COMPLETES(..., take, note, trace)                     likewise; `take` is done before the call, if there is a trace
 *
 * COUNT and DISPL are the types of counts and of displacements of arrays. `note` is
 * what is noted when the call has ended well: one of the functions of notes.h,
 * with `at` for the call itself.
 */
/* clang-format off */

/* Point to point: a send counts its message; a receive the buffer that it offers. */
#define TO (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
#define TO_ARGUMENTS (buf, count, type, dest, tag, comm)
#define TO_LATER (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
#define TO_LATER_ARGUMENTS (buf, count, type, dest, tag, comm, request)
TRACED(Send, TO, TO_ARGUMENTS, sent(at, comm, dest, extent(count, type)),
     traced_send(comm, dest, tag, extent(count, type)))
CALL(Bsend, TO, TO_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Ssend, TO, TO_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
TRACED(Rsend, TO, TO_ARGUMENTS, sent(at, comm, dest, extent(count, type)),
     traced_send(comm, dest, tag, extent(count, type)))
TRACED(Isend, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)),
     traced_later(comm, *request, true, dest, tag, extent(count, type)))
CALL(Ibsend, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
CALL(Issend, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
TRACED(Irsend, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)),
     traced_later(comm, *request, true, dest, tag, extent(count, type)))
TRACED_PERSISTENT(Send_init, Send_start, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)),
     traced_persistent(comm, *request, true, dest, tag, extent(count, type)))
PERSISTENT(Bsend_init, Bsend_start, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
PERSISTENT(Ssend_init, Ssend_start, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)))
TRACED_PERSISTENT(Rsend_init, Rsend_start, TO_LATER, TO_LATER_ARGUMENTS, sent(at, comm, dest, extent(count, type)),
     traced_persistent(comm, *request, true, dest, tag, extent(count, type)))
COMPLETES(Recv, (void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status),
     (buf, count, type, source, tag, comm, status), TAKE_STATUS(status),
     offered(at, comm, source, extent(count, type)),
     traced_recv(comm, source, extent(count, type), status))
TRACED(Irecv, (void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, type, source, tag, comm, request), offered(at, comm, source, extent(count, type)),
     traced_later(comm, *request, false, source, tag, extent(count, type)))
TRACED_PERSISTENT(Recv_init, Recv_start,
     (void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, type, source, tag, comm, request), offered(at, comm, source, extent(count, type)),
     traced_persistent(comm, *request, false, source, tag, extent(count, type)))
CALL(Mrecv, (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
     (buf, count, type, message, status), alone(at, extent(count, type)))
CALL(Imrecv, (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
     (buf, count, type, message, request), alone(at, extent(count, type)))
COMPLETES(Sendrecv, (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, void *into, COUNT room,
      MPI_Datatype into_type, int source, int into_tag, MPI_Comm comm, MPI_Status *status),
     (buf, count, type, dest, tag, into, room, into_type, source, into_tag, comm, status), TAKE_STATUS(status),
     sent(at, comm, dest, extent(count, type)),
     traced_sendrecv(comm, dest, tag, extent(count, type), source, extent(room, into_type), status))
COMPLETES(Sendrecv_replace, (void *buf, COUNT count, MPI_Datatype type, int dest, int tag, int source, int into_tag,
      MPI_Comm comm, MPI_Status *status),
     (buf, count, type, dest, tag, source, into_tag, comm, status), TAKE_STATUS(status),
     sent(at, comm, dest, extent(count, type)),
     traced_sendrecv(comm, dest, tag, extent(count, type), source, extent(count, type), status))
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
TRACED_COLLECTIVE(Bcast, bcast, (void *buf, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
     (buf, count, type, root, comm), blocks(at, comm, root == MPI_PROC_NULL ? 0 : extent(count, type), sends(comm, root)),
     traced_bcast(at, comm, count, type, root))
TRACED_COLLECTIVE(Gather, gather, (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room,
      MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, count, type, into, room, into_type, root, comm),
     blocks(at, comm, root == MPI_PROC_NULL ? 0 : root == MPI_ROOT || buf == MPI_IN_PLACE ? extent(room, into_type) : extent(count, type), root >= 0),
     traced_blocks(at, "gather", comm, buf == MPI_IN_PLACE ? room : count, buf == MPI_IN_PLACE ? into_type : type,
                   rank_in(comm) == root ? room : count, rank_in(comm) == root ? into_type : type, root))
TRACED_COLLECTIVE(Gatherv, gatherv, (const void *buf, COUNT count, MPI_Datatype type, void *into, const COUNT rooms[],
      const DISPL displs[], MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, count, type, into, rooms, displs, into_type, root, comm),
     blocks(at, comm, root < 0 ? 0 : buf == MPI_IN_PLACE ? extent(rooms[root], into_type) : extent(count, type), root >= 0),
     traced_gatherv(at, "gatherv", comm, buf == MPI_IN_PLACE ? rooms[root] : count,
                    buf == MPI_IN_PLACE ? into_type : type, rank_in(comm) == root ? rooms : NULL, sizeof rooms[0],
                    rank_in(comm) == root ? into_type : type, root))
TRACED_COLLECTIVE(Scatter, scatter, (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room,
      MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, count, type, into, room, into_type, root, comm),
     blocks(at, comm, root == MPI_PROC_NULL ? 0 : sends(comm, root) ? extent(count, type) : extent(room, into_type), sends(comm, root) ? others_in(comm) : 0),
     traced_blocks(at, "scatter", comm, rank_in(comm) == root ? count : room, rank_in(comm) == root ? type : into_type,
                   into == MPI_IN_PLACE ? count : room, into == MPI_IN_PLACE ? type : into_type, root))
TRACED_COLLECTIVE(Scatterv, scatterv, (const void *buf, const COUNT counts[], const DISPL displs[], MPI_Datatype type,
      void *into, COUNT room, MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, counts, displs, type, into, room, into_type, root, comm),
     scattered(at, comm, sends(comm, root) ? total(comm, counts, type) : root == MPI_PROC_NULL ? 0 : extent(room, into_type), sends(comm, root)),
     traced_scatterv(at, comm, rank_in(comm) == root ? counts : NULL, sizeof counts[0],
                     rank_in(comm) == root ? type : into_type, into == MPI_IN_PLACE ? counts[root] : room,
                     into == MPI_IN_PLACE ? type : into_type, root))
TRACED_COLLECTIVE(Allgather, allgather, (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room,
      MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, room, into_type, comm),
     blocks(at, comm, buf == MPI_IN_PLACE ? extent(room, into_type) : extent(count, type), 1),
     traced_blocks(at, "allgather", comm, buf == MPI_IN_PLACE ? room : count, buf == MPI_IN_PLACE ? into_type : type, room,
                   into_type, -1))
TRACED_COLLECTIVE(Allgatherv, allgatherv, (const void *buf, COUNT count, MPI_Datatype type, void *into, const COUNT rooms[],
      const DISPL displs[], MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, rooms, displs, into_type, comm),
     blocks(at, comm, buf == MPI_IN_PLACE ? extent(rooms[rank_in(comm)], into_type) : extent(count, type), 1),
     traced_gatherv(at, "allgatherv", comm, buf == MPI_IN_PLACE ? rooms[rank_in(comm)] : count,
                    buf == MPI_IN_PLACE ? into_type : type, rooms, sizeof rooms[0], into_type, -1))
TRACED_COLLECTIVE(Alltoall, alltoall, (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room,
      MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, room, into_type, comm),
     blocks(at, comm, buf == MPI_IN_PLACE ? extent(room, into_type) : extent(count, type), others_in(comm)),
     traced_blocks(at, "alltoall", comm, buf == MPI_IN_PLACE ? room : count, buf == MPI_IN_PLACE ? into_type : type, room,
                   into_type, -1))
TRACED_COLLECTIVE(Alltoallv, alltoallv, (const void *buf, const COUNT counts[], const DISPL displs[], MPI_Datatype type,
      void *into, const COUNT rooms[], const DISPL into_displs[], MPI_Datatype into_type, MPI_Comm comm),
     (buf, counts, displs, type, into, rooms, into_displs, into_type, comm),
     varied(at, comm, buf == MPI_IN_PLACE ? total(comm, rooms, into_type) : total(comm, counts, type)),
     traced_alltoallv(at, comm, buf == MPI_IN_PLACE ? rooms : counts, buf == MPI_IN_PLACE ? into_type : type, rooms,
                      sizeof rooms[0], into_type))
COLLECTIVE(Alltoallw, alltoallw, (const void *buf, const COUNT counts[], const DISPL displs[],
      const MPI_Datatype types[], void *into, const COUNT rooms[], const DISPL into_displs[],
      const MPI_Datatype into_types[], MPI_Comm comm),
     (buf, counts, displs, types, into, rooms, into_displs, into_types, comm),
     varied(at, comm, buf == MPI_IN_PLACE ? total_of_types(comm, rooms, into_types) : total_of_types(comm, counts, types)))
TRACED_COLLECTIVE(Reduce, reduce, (const void *buf, void *into, COUNT count, MPI_Datatype type, MPI_Op op, int root,
      MPI_Comm comm),
     (buf, into, count, type, op, root, comm), blocks(at, comm, root == MPI_PROC_NULL ? 0 : extent(count, type), root >= 0),
     traced_reduction(at, "reduce", comm, count, type, root))
#define REDUCED (const void *buf, void *into, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
TRACED_COLLECTIVE(Allreduce, allreduce, REDUCED, (buf, into, count, type, op, comm), blocks(at, comm, extent(count, type), 1),
     traced_reduction(at, "allreduce", comm, count, type, -1))
TRACED_COLLECTIVE(Scan, scan, REDUCED, (buf, into, count, type, op, comm), blocks(at, comm, extent(count, type), 1),
     traced_reduction(at, "scan", comm, count, type, -1))
TRACED_COLLECTIVE(Exscan, exscan, REDUCED, (buf, into, count, type, op, comm), blocks(at, comm, extent(count, type), 1),
     traced_reduction(at, "exscan", comm, count, type, -1))
TRACED_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, REDUCED, (buf, into, count, type, op, comm),
     blocks(at, comm, extent(count, type) * here_in(comm), 1),
     traced_reduce_scatter(at, comm, NULL, 0, count, type))
TRACED_COLLECTIVE(Reduce_scatter, reduce_scatter, (const void *buf, void *into, const COUNT rooms[], MPI_Datatype type,
      MPI_Op op, MPI_Comm comm),
     (buf, into, rooms, type, op, comm), blocks(at, comm, total_here(comm, rooms, type), 1),
     traced_reduce_scatter(at, comm, rooms, sizeof rooms[0], 0, type))
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
TRACED(Barrier, (MPI_Comm comm), (comm), blocks(at, comm, 0, 0),
     traced_barrier(at, comm))
CALL(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request), blocks(at, comm, 0, 0))
#if HAS_MPI_4
PERSISTENT(Barrier_init, Barrier_start, (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request),
     blocks(at, comm, 0, 0))
#endif
COMPLETES(Wait, (MPI_Request *request, MPI_Status *status), (request, status), TAKE(1, request, status, MPI_STATUS_IGNORE),
     alone(at, 0),
     completed(0, status, false))
COMPLETES(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status), (count, requests, index, status), TAKE(count, requests, status, MPI_STATUS_IGNORE),
     alone(at, 0),
     completed_some(*index == MPI_UNDEFINED ? 0 : 1, index, status))
COMPLETES(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses), TAKE(count, requests, statuses, MPI_STATUSES_IGNORE),
     alone(at, 0),
     completed_all(count, statuses))
COMPLETES(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), TAKE(count, requests, statuses, MPI_STATUSES_IGNORE),
     alone(at, 0),
     completed_some(*done, indices, statuses))
COMPLETES(Test, (MPI_Request *request, int *flag, MPI_Status *status), (request, flag, status), TAKE(1, request, status, MPI_STATUS_IGNORE),
     alone(at, 0),
     completed_some(*flag ? 1 : 0, &(const int){0}, status))
COMPLETES(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status), TAKE(count, requests, status, MPI_STATUS_IGNORE),
     alone(at, 0),
     completed_some(*flag && *index != MPI_UNDEFINED ? 1 : 0, index, status))
COMPLETES(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]), (count, requests, flag, statuses), TAKE(count, requests, statuses, MPI_STATUSES_IGNORE),
     alone(at, 0),
     completed_all(*flag ? count : 0, statuses))
COMPLETES(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), TAKE(count, requests, statuses, MPI_STATUSES_IGNORE),
     alone(at, 0),
     completed_some(*done, indices, statuses))
TRACED(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status), (source, tag, comm, status), blocks(at, comm, 0, 0),
     nothing)
TRACED(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (source, tag, comm, flag, status), blocks(at, comm, 0, 0),
     nothing)
CALL(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, message, status), blocks(at, comm, 0, 0))
CALL(Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, flag, message, status), blocks(at, comm, 0, 0))

/* What makes communicators: all of its processes meet there. */
TRACED(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made), blocks(at, comm, 0, 0),
     made_comm(*made))
CALL(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request), blocks(at, comm, 0, 0))
TRACED(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), (comm, colour, key, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made), (comm, kind, key, info, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Cart_create, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *made),
     (comm, ndims, dims, periods, reorder, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Graph_create, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made),
     (comm, nodes, index, edges, reorder, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Dist_graph_create, (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
      const int weights[], MPI_Info info, int reorder, MPI_Comm *made),
     (comm, n, sources, degrees, destinations, weights, info, reorder, made), blocks(at, comm, 0, 0),
     made_comm(*made))
TRACED(Dist_graph_create_adjacent, (MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
      const int destinations[], const int out_weights[], MPI_Info info, int reorder, MPI_Comm *made),
     (comm, in, sources, in_weights, out, destinations, out_weights, info, reorder, made), blocks(at, comm, 0, 0),
     made_comm(*made))
CALL(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm *made),
     (comm, leader, peers, remote, tag, made), blocks(at, comm, 0, 0))
CALL(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made), blocks(at, comm, 0, 0))
#endif
/* clang-format on */

// SPDX-License-Identifier: BSD-3-Clause
/*
 * The table of the calls that are profiled; it has no guard because it is included several times: for their numbers,
 * their names, and the functions themselves, once with `int` and once with MPI_Count where the library has those
 * (MPI_Send_c).
 *
 *   CALL(name, parameters, arguments, note)         one function
 *   PERSISTENT(name, start, ...)                    makes a request that MPI_Start starts; noted as `start` then
 *   COLLECTIVE(name, lower, ...)                    name, Iname, and name_init of MPI 4
 *   TRACED(..., note, trace), TRACED_PERSISTENT, TRACED_COLLECTIVE
 *                                                   the same (a collective: name alone) with its action in a trace; the
 *                                                   others end a trace (trace.h)
 *   COMPLETES(..., requests, count, status, ignored, note, trace)
 *                                                   likewise; before the call, if there is a trace, the requests are
 *                                                   kept, and an ignored status is not ignored
 *
 * COUNT and DISPL are the types of counts and of displacements of arrays. `note` is done when the call has ended well,
 * with `at` for the call itself.
 */
/* clang-format off */

/* Point to point: a send counts its message; a receive the buffer that it offers: its sender counts what came. */
#define TO (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
#define TO_ARGUMENTS (buf, count, type, dest, tag, comm)
#define TO_LATER WITH_REQUEST TO
#define TO_LATER_ARGUMENTS AND_REQUEST TO_ARGUMENTS
#define FROM_LATER (void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
#define FROM_LATER_ARGUMENTS (buf, count, type, source, tag, comm, request)
#define SENT sent(at, comm, dest, extent(count, type))
#define OFFERED blocks(at, comm, extent(count, type), 0)
#define SENDS(is_persistent) traced_request(comm, *request, is_persistent, true, dest, tag, extent(count, type))
#define RECEIVES(is_persistent) traced_request(comm, *request, is_persistent, false, source, tag, extent(count, type))
TRACED(Send, TO, TO_ARGUMENTS, SENT, traced_send(comm, dest, tag, extent(count, type)))
CALL(Bsend, TO, TO_ARGUMENTS, SENT)
CALL(Ssend, TO, TO_ARGUMENTS, SENT)
TRACED(Rsend, TO, TO_ARGUMENTS, SENT, traced_send(comm, dest, tag, extent(count, type)))
TRACED(Isend, TO_LATER, TO_LATER_ARGUMENTS, SENT, SENDS(false))
CALL(Ibsend, TO_LATER, TO_LATER_ARGUMENTS, SENT)
CALL(Issend, TO_LATER, TO_LATER_ARGUMENTS, SENT)
TRACED(Irsend, TO_LATER, TO_LATER_ARGUMENTS, SENT, SENDS(false))
TRACED_PERSISTENT(Send_init, Send_start, TO_LATER, TO_LATER_ARGUMENTS, SENT, SENDS(true))
PERSISTENT(Bsend_init, Bsend_start, TO_LATER, TO_LATER_ARGUMENTS, SENT)
PERSISTENT(Ssend_init, Ssend_start, TO_LATER, TO_LATER_ARGUMENTS, SENT)
TRACED_PERSISTENT(Rsend_init, Rsend_start, TO_LATER, TO_LATER_ARGUMENTS, SENT, SENDS(true))
COMPLETES(Recv, (void *buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status),
     (buf, count, type, source, tag, comm, status), NULL, 0, status, MPI_STATUS_IGNORE, OFFERED,
     traced_recv(comm, source, extent(count, type), status))
TRACED(Irecv, FROM_LATER, FROM_LATER_ARGUMENTS, OFFERED, RECEIVES(false))
TRACED_PERSISTENT(Recv_init, Recv_start, FROM_LATER, FROM_LATER_ARGUMENTS, OFFERED, RECEIVES(true))
CALL(Mrecv, (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
     (buf, count, type, message, status), alone(at, extent(count, type)))
CALL(Imrecv, (void *buf, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
     (buf, count, type, message, request), alone(at, extent(count, type)))
COMPLETES(Sendrecv, (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, void *into, COUNT room,
      MPI_Datatype into_type, int source, int into_tag, MPI_Comm comm, MPI_Status *status),
     (buf, count, type, dest, tag, into, room, into_type, source, into_tag, comm, status), NULL, 0, status,
     MPI_STATUS_IGNORE, SENT,
     traced_sendrecv(comm, dest, tag, extent(count, type), source, extent(room, into_type), status))
COMPLETES(Sendrecv_replace, (void *buf, COUNT count, MPI_Datatype type, int dest, int tag, int source, int into_tag,
      MPI_Comm comm, MPI_Status *status),
     (buf, count, type, dest, tag, source, into_tag, comm, status), NULL, 0, status, MPI_STATUS_IGNORE, SENT,
     traced_sendrecv(comm, dest, tag, extent(count, type), source, extent(count, type), status))
#if HAS_MPI_4
CALL(Isendrecv, (const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, void *into, COUNT room,
      MPI_Datatype into_type, int source, int into_tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, type, dest, tag, into, room, into_type, source, into_tag, comm, request), SENT)
CALL(Isendrecv_replace, (void *buf, COUNT count, MPI_Datatype type, int dest, int tag, int source, int into_tag,
      MPI_Comm comm, MPI_Request *request),
     (buf, count, type, dest, tag, source, into_tag, comm, request), SENT)
#endif

/* Collectives. The size is that of a block; the bytes are those that this process hands over. */
#define IS_ROOT (known(comm)->rank == root)
#define IN_PLACE (buf == MPI_IN_PLACE)
#define OUT (IN_PLACE ? ONE(room, into_type) : ONE(count, type))
#define TOTAL(n, counts, type) total(n, counts, sizeof (counts)[0], type)
#define TOTAL_OF_TYPES(n, counts, types) total_of_types(n, counts, sizeof (counts)[0], types)
#define OTHERS known(comm)->partners /* that a collective reaches: of an inter-communicator the other group */
#define BLOCKS (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room, MPI_Datatype into_type, \
      MPI_Comm comm)
#define BLOCKS_ARGUMENTS (buf, count, type, into, room, into_type, comm)
#define ROOTED_BLOCKS (const void *buf, COUNT count, MPI_Datatype type, void *into, COUNT room, \
      MPI_Datatype into_type, int root, MPI_Comm comm)
#define ROOTED_BLOCKS_ARGUMENTS (buf, count, type, into, room, into_type, root, comm)
TRACED_COLLECTIVE(Bcast, bcast, (void *buf, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
     (buf, count, type, root, comm),
     blocks(at, comm, root == MPI_PROC_NULL ? 0 : extent(count, type), sends(comm, root)),
     traced_elements(at, "bcast", comm, ONE(count, type), false, root))
TRACED_COLLECTIVE(Gather, gather, ROOTED_BLOCKS, ROOTED_BLOCKS_ARGUMENTS,
     blocks(at, comm, root == MPI_PROC_NULL ? 0 : root == MPI_ROOT || IN_PLACE ? extent(room, into_type)
                                                                               : extent(count, type), root >= 0),
     traced_blocks(at, "gather", comm, OUT, IS_ROOT ? ONE(room, into_type) : ONE(count, type), root))
TRACED_COLLECTIVE(Gatherv, gatherv, (const void *buf, COUNT count, MPI_Datatype type, void *into, const COUNT rooms[],
      const DISPL displs[], MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, count, type, into, rooms, displs, into_type, root, comm),
     blocks(at, comm, root < 0 ? 0 : IN_PLACE ? extent(rooms[root], into_type) : extent(count, type), root >= 0),
     traced_blocks(at, "gatherv", comm, IN_PLACE ? ONE(rooms[root], into_type) : ONE(count, type),
                   MANY_IF(IS_ROOT, rooms, into_type, type), root))
TRACED_COLLECTIVE(Scatter, scatter, ROOTED_BLOCKS, ROOTED_BLOCKS_ARGUMENTS,
     blocks(at, comm, root == MPI_PROC_NULL ? 0 : sends(comm, root) ? extent(count, type) : extent(room, into_type),
            sends(comm, root) ? OTHERS : 0),
     traced_blocks(at, "scatter", comm, IS_ROOT ? ONE(count, type) : ONE(room, into_type),
                   into == MPI_IN_PLACE ? ONE(count, type) : ONE(room, into_type), root))
TRACED_COLLECTIVE(Scatterv, scatterv, (const void *buf, const COUNT counts[], const DISPL displs[], MPI_Datatype type,
      void *into, COUNT room, MPI_Datatype into_type, int root, MPI_Comm comm),
     (buf, counts, displs, type, into, room, into_type, root, comm),
     sends(comm, root) ? varied(at, comm, OTHERS, TOTAL(OTHERS, counts, type))
                       : blocks(at, comm, root == MPI_PROC_NULL ? 0 : extent(room, into_type), 0),
     traced_blocks(at, "scatterv", comm, MANY_IF(IS_ROOT, counts, type, into_type),
                   into == MPI_IN_PLACE ? ONE(counts[root], type) : ONE(room, into_type), root))
TRACED_COLLECTIVE(Allgather, allgather, BLOCKS, BLOCKS_ARGUMENTS,
     blocks(at, comm, IN_PLACE ? extent(room, into_type) : extent(count, type), 1),
     traced_blocks(at, "allgather", comm, OUT, ONE(room, into_type), -1))
TRACED_COLLECTIVE(Allgatherv, allgatherv, (const void *buf, COUNT count, MPI_Datatype type, void *into,
      const COUNT rooms[], const DISPL displs[], MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, rooms, displs, into_type, comm),
     blocks(at, comm, IN_PLACE ? extent(rooms[known(comm)->rank], into_type) : extent(count, type), 1),
     traced_blocks(at, "allgatherv", comm, IN_PLACE ? ONE(rooms[known(comm)->rank], into_type) : ONE(count, type),
                   MANY(rooms, into_type), -1))
TRACED_COLLECTIVE(Alltoall, alltoall, BLOCKS, BLOCKS_ARGUMENTS,
     blocks(at, comm, IN_PLACE ? extent(room, into_type) : extent(count, type), OTHERS),
     traced_blocks(at, "alltoall", comm, OUT, ONE(room, into_type), -1))
TRACED_COLLECTIVE(Alltoallv, alltoallv, (const void *buf, const COUNT counts[], const DISPL displs[], MPI_Datatype type,
      void *into, const COUNT rooms[], const DISPL into_displs[], MPI_Datatype into_type, MPI_Comm comm),
     (buf, counts, displs, type, into, rooms, into_displs, into_type, comm),
     varied(at, comm, OTHERS, IN_PLACE ? TOTAL(OTHERS, rooms, into_type) : TOTAL(OTHERS, counts, type)),
     traced_blocks(at, "alltoallv", comm, IN_PLACE ? MANY(rooms, into_type) : MANY(counts, type),
                   MANY(rooms, into_type), -1))
COLLECTIVE(Alltoallw, alltoallw, (const void *buf, const COUNT counts[], const DISPL displs[],
      const MPI_Datatype types[], void *into, const COUNT rooms[], const DISPL into_displs[],
      const MPI_Datatype into_types[], MPI_Comm comm),
     (buf, counts, displs, types, into, rooms, into_displs, into_types, comm),
     varied(at, comm, OTHERS, IN_PLACE ? TOTAL_OF_TYPES(OTHERS, rooms, into_types)
                                       : TOTAL_OF_TYPES(OTHERS, counts, types)))
TRACED_COLLECTIVE(Reduce, reduce, (const void *buf, void *into, COUNT count, MPI_Datatype type, MPI_Op op, int root,
      MPI_Comm comm),
     (buf, into, count, type, op, root, comm),
     blocks(at, comm, root == MPI_PROC_NULL ? 0 : extent(count, type), root >= 0),
     traced_elements(at, "reduce", comm, ONE(count, type), true, root))
#define REDUCED (const void *buf, void *into, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define REDUCED_ARGUMENTS (buf, into, count, type, op, comm)
TRACED_COLLECTIVE(Allreduce, allreduce, REDUCED, REDUCED_ARGUMENTS, blocks(at, comm, extent(count, type), 1),
     traced_elements(at, "allreduce", comm, ONE(count, type), true, -1))
TRACED_COLLECTIVE(Scan, scan, REDUCED, REDUCED_ARGUMENTS, blocks(at, comm, extent(count, type), 1),
     traced_elements(at, "scan", comm, ONE(count, type), true, -1))
TRACED_COLLECTIVE(Exscan, exscan, REDUCED, REDUCED_ARGUMENTS, blocks(at, comm, extent(count, type), 1),
     traced_elements(at, "exscan", comm, ONE(count, type), true, -1))
TRACED_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, REDUCED, REDUCED_ARGUMENTS,
     blocks(at, comm, extent(count, type) * known(comm)->size, 1),
     traced_elements(at, "reducescatter", comm, EACH(count, type), true, -1))
TRACED_COLLECTIVE(Reduce_scatter, reduce_scatter, (const void *buf, void *into, const COUNT rooms[], MPI_Datatype type,
      MPI_Op op, MPI_Comm comm),
     (buf, into, rooms, type, op, comm), blocks(at, comm, TOTAL(known(comm)->size, rooms, type), 1),
     traced_elements(at, "reducescatter", comm, MANY(rooms, type), true, -1))

/* Of a neighbourhood each neighbour gets a block. */
#define NEIGHBOURS neighbours_in(comm)
COLLECTIVE(Neighbor_allgather, neighbor_allgather, BLOCKS, BLOCKS_ARGUMENTS,
     blocks(at, comm, extent(count, type), NEIGHBOURS))
COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, (const void *buf, COUNT count, MPI_Datatype type, void *into,
      const COUNT rooms[], const DISPL displs[], MPI_Datatype into_type, MPI_Comm comm),
     (buf, count, type, into, rooms, displs, into_type, comm), blocks(at, comm, extent(count, type), NEIGHBOURS))
COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, BLOCKS, BLOCKS_ARGUMENTS,
     blocks(at, comm, extent(count, type), NEIGHBOURS))
COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, (const void *buf, const COUNT counts[], const DISPL displs[],
      MPI_Datatype type, void *into, const COUNT rooms[], const DISPL into_displs[], MPI_Datatype into_type,
      MPI_Comm comm),
     (buf, counts, displs, type, into, rooms, into_displs, into_type, comm),
     varied(at, comm, NEIGHBOURS, TOTAL(NEIGHBOURS, counts, type)))
COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, (const void *buf, const COUNT counts[], const MPI_Aint displs[],
      const MPI_Datatype types[], void *into, const COUNT rooms[], const MPI_Aint into_displs[],
      const MPI_Datatype into_types[], MPI_Comm comm),
     (buf, counts, displs, types, into, rooms, into_displs, into_types, comm),
     varied(at, comm, NEIGHBOURS, TOTAL_OF_TYPES(NEIGHBOURS, counts, types)))

#ifdef ONCE
/* What all processes of a communicator meet in, without data. One-sided transfers are not counted; their windows are. */
#define MEETING blocks(at, comm, 0, 0)
CALL(Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
     (base, size, unit, info, comm, win), MEETING)
CALL(Win_allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
     (size, unit, info, comm, base, win), MEETING)
CALL(Win_allocate_shared, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
     (size, unit, info, comm, base, win), MEETING)
CALL(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win), MEETING)

/* What only waits, or asks. A Probe has no time of its own in a replay, because the receive waits. */
TRACED(Barrier, (MPI_Comm comm), (comm), MEETING, traced_barrier(at, comm))
CALL(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request), MEETING)
#if HAS_MPI_4
PERSISTENT(Barrier_init, Barrier_start, (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request),
     MEETING)
#endif
#define FIRST (&(const int){0})
COMPLETES(Wait, (MPI_Request *request, MPI_Status *status), (request, status), request, 1, status, MPI_STATUS_IGNORE,
     alone(at, 0), completed_some(1, FIRST, status))
COMPLETES(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status),
     (count, requests, index, status), requests, count, status, MPI_STATUS_IGNORE,
     alone(at, 0), completed_some(*index != MPI_UNDEFINED, index, status))
COMPLETES(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses),
     requests, count, statuses, MPI_STATUSES_IGNORE, alone(at, 0), completed_all(count, statuses))
COMPLETES(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), requests, count, statuses, MPI_STATUSES_IGNORE,
     alone(at, 0), completed_some(*done, indices, statuses))
COMPLETES(Test, (MPI_Request *request, int *flag, MPI_Status *status), (request, flag, status),
     request, 1, status, MPI_STATUS_IGNORE, alone(at, 0), completed_some(*flag != 0, FIRST, status))
COMPLETES(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
     (count, requests, index, flag, status), requests, count, status, MPI_STATUS_IGNORE,
     alone(at, 0), completed_some(*flag && *index != MPI_UNDEFINED, index, status))
COMPLETES(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
     (count, requests, flag, statuses), requests, count, statuses, MPI_STATUSES_IGNORE,
     alone(at, 0), completed_all(*flag ? count : 0, statuses))
COMPLETES(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), requests, count, statuses, MPI_STATUSES_IGNORE,
     alone(at, 0), completed_some(*done, indices, statuses))
TRACED(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status), (source, tag, comm, status), MEETING, (void)0)
TRACED(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (source, tag, comm, flag, status),
     MEETING, (void)0)
CALL(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, message, status), MEETING)
CALL(Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
     (source, tag, comm, flag, message, status), MEETING)

/* What makes communicators: all of its processes meet there. */
#define MADE made_comm(*made)
TRACED(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made), MEETING, MADE)
TRACED(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made), MEETING, MADE)
CALL(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request), MEETING)
TRACED(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), (comm, colour, key, made), MEETING, MADE)
TRACED(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made),
     (comm, kind, key, info, made), MEETING, MADE)
TRACED(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made), MEETING, MADE)
TRACED(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made),
     MEETING, MADE)
TRACED(Cart_create, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *made),
     (comm, ndims, dims, periods, reorder, made), MEETING, MADE)
TRACED(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made), MEETING, MADE)
TRACED(Graph_create, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made),
     (comm, nodes, index, edges, reorder, made), MEETING, MADE)
TRACED(Dist_graph_create, (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
      const int weights[], MPI_Info info, int reorder, MPI_Comm *made),
     (comm, n, sources, degrees, destinations, weights, info, reorder, made), MEETING, MADE)
TRACED(Dist_graph_create_adjacent, (MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
      const int destinations[], const int out_weights[], MPI_Info info, int reorder, MPI_Comm *made),
     (comm, in, sources, in_weights, out, destinations, out_weights, info, reorder, made), MEETING, MADE)
CALL(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm *made),
     (comm, leader, peers, remote, tag, made), MEETING)
CALL(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made), MEETING)
#endif
/* clang-format on */

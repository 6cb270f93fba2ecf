//! The help topics about placement.

pub(super) const MAPPING: &str = "\
Placement has three steps: map (which node and object), rank (which number, see --help ranking), bind
(which processors, see --help binding).

  --map-by slot             fill the slots of a node, then those of the next
  --map-by node             one process per node in turn
  --map-by core             one process per object in turn, node after node: hwthread, core, l1cache,
                            l2cache, l3cache, numa or package
  --map-by ppr:N:node       exactly N processes on every node (-N N is the same), or on every object;
                            with -n at most N, as far as earlier programs have left slots there
  --map-by ppr:N:device=gpu       N processes close to every device of a kind, which they share
  --map-by seq[:FILE=path]  one process for each line of a file, or for each host as it is named; programs
                            of one job share the lines, and one without -n takes all that are left
  --map-by rankfile:FILE=path     each rank where its line says (see --help rankfiles)
  --map-by pe-list=0,3,5-6        on these processors of every node; each process has all of them
  --map-by device=gpu       a device for each process, which runs close to it: gpu, network, block,
                            or the name of one device

Qualifiers follow a colon each:

  PE=n                      n processors for each process
  SPAN                      the nodes are dealt to as if they were one (no change by slot and by node)
  OVERSUBSCRIBE, NOOVERSUBSCRIBE  more processes than slots are allowed, or refused (default)
  NOLOCAL                   nothing on the node of the head
  HWTCPUS, CORECPUS         processors are hardware threads, or cores (default)
  INHERIT, NOINHERIT        jobs that this one spawns are placed as it is, or not (default)
  FILE=path                 the file of seq or rankfile; its name ends at the next colon
  ORDERED                   with pe-list: one process on each of the processors, in turn
  INTERLEAVE[=level]        with device: in turn from each package (or numa, l3cache, ...)
  SHARED                    with device: several processes may get the same one
  NDEV=n                    with device: n devices for each process

Without --map-by: by core; by the object of --bind-to where that is given; by slot with --bind-to none.
Words may be shortened while they are unique, in any case; the option may be written --mapby.
--display map shows the result, --display map --runtime-options donotlaunch shows it without a
launch. The parameters mapby, rankby and bindto are defaults; their qualifiers hold as long as the
line does not say otherwise.

In a line with several programs, a directive at the first one and at no other is for the job.
Otherwise each program has its own, and those without have the defaults; so it is for --rank-by and
--bind-to as well. OVERSUBSCRIBE and INHERIT are for the job wherever they stand.
";

pub(super) const RANKING: &str = "\
Ranks are given to the placed processes, for one program after the other.

  --rank-by slot            node by node, in the order of mapping
  --rank-by node            one on each node in turn
  --rank-by fill            fill an object of the mapping before the next
  --rank-by span            one on each object in turn, over all nodes

fill and span need a mapping by objects. Without --rank-by: node when mapped by node, fill when mapped
by an object (span with SPAN), else slot; rankfiles and sequences number the processes themselves.
The option may be written --rankby. There are no qualifiers.
";

pub(super) const BINDING: &str = "\
A process may be bound to an object within that which it is mapped to.

  --bind-to none
  --bind-to core            or hwthread, l1cache, l2cache, l3cache, numa, package

Qualifiers follow a colon each, and may stand alone (--bind-to :report):

  overload-allowed          more processes on an object than it has processors
  no-overload               that is refused (default)
  if-supported              where it cannot be done, the process stays unbound
  limit=n                   at most n processes on one object
  report                    as --display bind, of this program

Without --bind-to: to what is mapped by; by slot or node, a pair to processors and more processes to NUMA
domains. A job with more processes than slots or processors is not bound then.
The option may be written --bindto.
";

pub(super) const FILES: &str = "\
A rankfile has a line for each rank, from 0 and without a hole, in any order:

  rank 0=n0 slot=0,2-4      on node n0, bound to processors 0 and 2 to 4
  rank 1=n1 slot=1:0-2      the first three processors of package 1; slot=1:* all of them
  rank 2=+n1 slot=0:1;1:1   the second node of the allocation; in two packages
  rank 3=n0                 bound as --bind-to says

A sequence has a line for each process, ranks are counted in its order:

  n0 0-3
  n1

Processors have logical numbers (as lstopo shows them): cores, or hardware threads with HWTCPUS.
Comments are those of a hostfile. The hosts are the allocation when neither --host nor a hostfile
says otherwise, and without -n there are as many processes as lines. A file that one of several
programs names counts from that program's own first process.

--map-by seq without a file goes through the hosts of --host, or else of --hostfile, in their order:
one process for each time that a host is named, whatever its slots.
";

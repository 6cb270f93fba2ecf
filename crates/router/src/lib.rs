//! Routes between daemons: the radix tree over daemons, and the conversations along it.
//!
//! * [`Tree`]: parent, children, next hop and sub-trees from (radix, size, dead set) alone, so that
//!   every daemon that holds the same three values holds the same tree.
//! * [`Xcasts`]: acknowledged broadcasts, from the head down, acknowledgements merged on the way up.
//! * [`Streams`]: messages from daemon to daemon, exactly once and in order for each pair.
//! * [`Rollups`]: collectives gathered up the tree of their participants.
//!
//! Called by `core`. Nothing here sends, waits or knows what a payload means: methods say what is
//! to be done next and the caller does it.
//!
//! # Signatures
//! ```text
//! Tree::new(radix: u32, size: u32) -> Tree             Tree::with_holes(radix, size, dead: RankSet) -> Tree
//! tree.radix() -> u32   tree.size() -> u32             tree.holes() -> &RankSet
//! tree.grow(&mut, size: u32)                           tree.repair(&mut, dead: &RankSet)
//! tree.repair_adopting(&mut, dead: &RankSet, me) -> Adoption   // repairs, and says what changed for `me`
//! struct Adoption { new_children: Vec<DaemonRank>, lost_children: Vec<DaemonRank>, new_parent: Option<DaemonRank> }
//! tree.contains(rank) -> bool                          tree.living() -> RankSet
//! tree.parent(rank) -> Option<DaemonRank>              tree.children(rank) -> Vec<DaemonRank>
//! tree.is_ancestor(ancestor, rank) -> bool             tree.next_hop(me, dest) -> Option<DaemonRank>
//! tree.depth(rank) -> u32                              tree.ancestors(rank) -> impl Iterator<Item = DaemonRank>
//! tree.subtree(rank) -> RankSet                        tree.subtree_size(rank) -> usize
//! tree.split(me, dests: &RankSet) -> Split { here: bool, down: Vec<(DaemonRank, RankSet)>, up: RankSet }
//! tree.participant_parent(me, set: &RankSet) -> Option<DaemonRank>
//! tree.participant_children(me, set: &RankSet) -> RankSet
//!
//! Xcasts::new()
//! xcasts.start(&mut) -> u64                            // head
//! xcasts.receive(&mut, seq: u64) -> Receipt            xcasts.forwarded(&mut, seq, &[DaemonRank]) -> Option<Progress>
//! xcasts.processed_here(&mut, seq) -> Option<Progress> xcasts.acked_by(&mut, seq, child) -> Option<Progress>
//! xcasts.child_lost(&mut, child) -> Vec<(u64, Progress)>
//! xcasts.child_adopted(&mut, child)                    // call before `child_lost`
//! xcasts.owed_by(child) -> impl Iterator<Item = u64>   // to be sent again when its link is new
//! xcasts.in_flight() -> impl Iterator<Item = u64>      xcasts.waiting_for(seq) -> Option<&RankSet>
//! enum Receipt { New, Duplicate { ack_again: bool } }
//! enum Progress { AckParent, Complete }
//!
//! Streams::<P>::new()
//! streams.send(&mut, to, P, now) -> Stamp { seq, ack }
//! streams.receive(&mut, from, seq, bytes) -> Arrival { take, reply }
//! streams.acked(&mut, from, Ack { upto, missing }, now) -> Vec<(u64, P)>   // to be sent again
//! streams.probed(&mut, from, last: u64) -> Ack         streams.overdue(&mut, now) -> Vec<Probe>
//! streams.hurry(&mut, now, |rank| bool) -> Vec<Probe>  streams.next_due() -> Option<Timestamp>
//! streams.forget(&mut, dead: &RankSet)                 streams.kept() -> usize
//!
//! Rollups::<K, V>::new()
//! rollups.begin(&mut, key, local: usize, children: RankSet) -> Option<Gathered<V>>
//! rollups.contribute_local(&mut, &K, V) -> Option<Gathered<V>>
//! rollups.contribute(&mut, key: K, child, V) -> Option<Gathered<V>>
//! rollups.cancel(&mut, &K) -> bool                     rollups.retain(&mut, |&K| -> bool)
//! rollups.is_open(&K) -> bool   rollups.waiting_for(&K) -> Option<&RankSet>   rollups.refused() -> u64
//! struct Gathered<V> { local: Vec<V>, remote: Vec<(DaemonRank, V)> }
//! ```

mod adoption;
mod participants;
mod ranges;
mod rollup;
mod seqset;
mod split;
mod streams;
mod tree;
mod xcast;

pub use adoption::Adoption;
pub use rollup::{Gathered, Rollups};
pub use split::Split;
pub use streams::{Ack, Arrival, FIRST_PROBE, Probe, Stamp, Streams};
pub use tree::Tree;
pub use xcast::{Progress, Receipt, Xcasts};

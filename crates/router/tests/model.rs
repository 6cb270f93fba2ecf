//! The tree against a naive model: a parent array filled rank by rank, and sets of plain numbers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrite_router::{Adoption, Progress, Receipt, Streams, Tree, Xcasts};
use ferrite_types::{DaemonRank, Duration, RankSet, Timestamp};
use proptest::prelude::*;

/// The parent of each rank, found without any of the crate's arithmetic: ranks are dealt to places in order.
fn naive_parents(radix: u32, size: u32, dead: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
    let mut above: Vec<Option<u32>> = vec![None];
    let mut host = 0;
    let mut hosted = 0;
    for _ in 1..size {
        if hosted == radix {
            host += 1;
            hosted = 0;
        }
        above.push(Some(host));
        hosted += 1;
    }
    let living_above = |rank: u32| {
        let mut place = above[rank as usize];
        while place.is_some_and(|p| dead.contains(&p)) {
            place = above[place.expect("just checked") as usize];
        }
        place
    };
    (0..size).filter(|r| !dead.contains(r)).filter_map(|r| Some((r, living_above(r)?))).collect()
}

fn ranks(set: &BTreeSet<u32>) -> RankSet {
    set.iter().copied().map(DaemonRank).collect()
}
fn plain(set: &RankSet) -> BTreeSet<u32> {
    set.iter().map(|r| r.0).collect()
}

#[derive(Debug, Clone)]
struct World {
    tree: Tree,
    parents: BTreeMap<u32, u32>,
    living: BTreeSet<u32>,
}

fn worlds() -> impl Strategy<Value = World> {
    let radix = prop_oneof![Just(1u32), Just(2), Just(3), Just(64), 2u32..20];
    (radix, 1u32..90, 0u32..=9).prop_flat_map(|(radix, size, tenths)| {
        let fate = proptest::collection::vec(0u32..10, size as usize);
        fate.prop_map(move |fate| {
            let dead: BTreeSet<u32> = (1..size).filter(|r| fate[*r as usize] < tenths).collect();
            let parents = naive_parents(radix, size, &dead);
            let living = (0..size).filter(|r| !dead.contains(r)).collect();
            World { tree: Tree::with_holes(radix, size, ranks(&dead)), parents, living }
        })
    })
}

fn worlds_with_sets() -> impl Strategy<Value = (World, BTreeSet<u32>)> {
    (worlds(), proptest::collection::btree_set(0u32..100, 0..60))
}

impl World {
    fn ancestors(&self, rank: u32) -> Vec<u32> {
        std::iter::successors(self.parents.get(&rank).copied(), |r| self.parents.get(r).copied()).collect()
    }
}

proptest! {
    // The models are quadratic: many small worlds find more than a few big ones.
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn parents_children_and_depth_are_the_models(world in worlds()) {
        for &rank in &world.living {
            let me = DaemonRank(rank);
            prop_assert_eq!(world.tree.parent(me).map(|r| r.0), world.parents.get(&rank).copied());
            let children: Vec<u32> =
                world.parents.iter().filter(|(_, p)| **p == rank).map(|(c, _)| *c).collect();
            prop_assert_eq!(world.tree.children(me).iter().map(|r| r.0).collect::<Vec<_>>(), children);
            let above = world.ancestors(rank);
            prop_assert_eq!(world.tree.depth(me) as usize, above.len());
            prop_assert_eq!(world.tree.ancestors(me).map(|r| r.0).collect::<Vec<_>>(), above);
        }
        prop_assert_eq!(plain(&world.tree.living()), world.living);
    }

    #[test]
    fn sub_trees_are_the_ranks_that_have_me_above(world in worlds()) {
        for &rank in &world.living {
            let below: BTreeSet<u32> = world.living.iter().copied()
                .filter(|r| *r == rank || world.ancestors(*r).contains(&rank)).collect();
            prop_assert_eq!(world.tree.subtree_size(DaemonRank(rank)), below.len());
            prop_assert_eq!(plain(&world.tree.subtree(DaemonRank(rank))), below);
            for &other in &world.living {
                prop_assert_eq!(
                    world.tree.is_ancestor(DaemonRank(rank), DaemonRank(other)),
                    world.ancestors(other).contains(&rank)
                );
            }
        }
    }

    #[test]
    fn every_living_rank_is_reached_from_every_other_over_tree_links(world in worlds(), from in any::<prop::sample::Index>()) {
        let living: Vec<u32> = world.living.iter().copied().collect();
        for from in [0, *from.get(&living)] {
            for &dest in &living {
                let mut at = from;
                for _ in 0..=2 * living.len() {
                    let Some(next) = world.tree.next_hop(DaemonRank(at), DaemonRank(dest)) else { break };
                    let linked = world.parents.get(&at) == Some(&next.0) || world.parents.get(&next.0) == Some(&at);
                    prop_assert!(linked, "{} sends to {}, which is no neighbour", at, next);
                    at = next.0;
                }
                prop_assert_eq!(at, dest);
            }
        }
    }

    #[test]
    fn the_dead_and_the_unknown_are_not_reached(world in worlds(), dest in 0u32..300) {
        if !world.living.contains(&dest) {
            prop_assert_eq!(world.tree.next_hop(DaemonRank::HEAD, DaemonRank(dest)), None);
        }
    }

    #[test]
    fn a_split_puts_every_living_destination_behind_its_next_hop((world, dests) in worlds_with_sets()) {
        let wanted = ranks(&dests);
        for &rank in &world.living {
            let me = DaemonRank(rank);
            let split = world.tree.split(me, &wanted);
            prop_assert_eq!(split.here, dests.contains(&rank));
            let mut seen: BTreeSet<u32> = split.here.then_some(rank).into_iter().collect();
            let mut count = seen.len();
            let up = world.tree.parent(me).map(|p| (p, split.up.clone()));
            prop_assert!(up.is_some() || split.up.is_empty());
            let parts = split.down.iter().cloned().chain(up.filter(|(_, s)| !s.is_empty()));
            for (hop, part) in parts {
                prop_assert!(!part.is_empty());
                for dest in part.iter() {
                    prop_assert_eq!(world.tree.next_hop(me, dest), Some(hop));
                    seen.insert(dest.0);
                    count += 1;
                }
            }
            let living: BTreeSet<u32> = dests.intersection(&world.living).copied().collect();
            prop_assert_eq!(count, living.len(), "no destination twice");
            prop_assert_eq!(seen, living);
        }
    }

    #[test]
    fn participants_form_a_tree_that_covers_them((world, members) in worlds_with_sets()) {
        let set = ranks(&members);
        let part: BTreeSet<u32> = members.intersection(&world.living).copied().chain([0]).collect();
        let mut adopted = BTreeSet::new();
        for &rank in &world.living {
            let children = world.tree.participant_children(DaemonRank(rank), &set);
            prop_assert!(part.contains(&rank) || children.is_empty());
            for child in children.iter() {
                prop_assert_eq!(world.tree.participant_parent(child, &set), Some(DaemonRank(rank)));
                prop_assert!(adopted.insert(child.0), "{} has two parents", child);
            }
            let nearest = world.ancestors(rank).into_iter().find(|r| part.contains(r));
            prop_assert_eq!(world.tree.participant_parent(DaemonRank(rank), &set).map(|r| r.0), nearest);
        }
        let expected: BTreeSet<u32> = part.into_iter().filter(|r| *r != 0).collect();
        prop_assert_eq!(adopted, expected);
    }

    #[test]
    fn one_repair_of_a_set_equals_many_of_one(radix in 1u32..5, size in 1u32..60, dead in proptest::collection::vec(0u32..60, 0..30)) {
        let mut batched = Tree::new(radix, size);
        batched.repair(&dead.iter().copied().map(DaemonRank).collect());
        let mut one_by_one = Tree::new(radix, 1);
        for rank in dead {
            one_by_one.repair(&[DaemonRank(rank)].into_iter().collect());
        }
        one_by_one.grow(size);
        prop_assert_eq!(batched, one_by_one);
    }

    #[test]
    fn the_order_of_repairs_does_not_matter(world in worlds(), dead in proptest::collection::vec(0u32..100, 0..30).prop_shuffle(), cut in any::<prop::sample::Index>()) {
        let repaired = |parts: &[&[u32]]| {
            let mut tree = world.tree.clone();
            parts.iter().for_each(|part| tree.repair(&part.iter().copied().map(DaemonRank).collect()));
            tree
        };
        let (first, second) = dead.split_at(cut.index(dead.len() + 1));
        let batched = repaired(&[&dead]);
        prop_assert_eq!(&batched, &repaired(&[first, second]));
        prop_assert_eq!(&batched, &repaired(&[second, first]));
        let backwards: Vec<&[u32]> = dead.chunks(1).rev().collect();
        prop_assert_eq!(&batched, &repaired(&backwards));
    }

    #[test]
    fn a_parent_and_its_children_agree_after_a_repair((world, dead) in worlds_with_sets()) {
        let mut tree = world.tree;
        tree.repair(&ranks(&dead));
        let living = plain(&tree.living());
        let down: BTreeSet<(u32, u32)> =
            living.iter().flat_map(|p| tree.children(DaemonRank(*p)).into_iter().map(move |c| (*p, c.0))).collect();
        let up: BTreeSet<(u32, u32)> =
            living.iter().filter_map(|c| Some((tree.parent(DaemonRank(*c))?.0, *c))).collect();
        prop_assert_eq!(down, up);
    }

    #[test]
    fn an_adoption_is_the_difference_that_the_repair_made((world, dead) in worlds_with_sets()) {
        let mut after = world.tree.clone();
        after.repair(&ranks(&dead));
        // The dead and those never given are asked as well: a leaving daemon may.
        for me in (0..world.tree.size() + 2).map(DaemonRank) {
            let mut tree = world.tree.clone();
            let adoption = tree.repair_adopting(&ranks(&dead), me);
            prop_assert_eq!(&tree, &after);
            let (old, new) = (world.tree.children(me), after.children(me));
            let expected = Adoption {
                new_children: new.iter().copied().filter(|c| !old.contains(c)).collect(),
                lost_children: old.iter().copied().filter(|c| !new.contains(c)).collect(),
                new_parent: after.parent(me).filter(|now| world.tree.parent(me) != Some(*now)),
            };
            prop_assert_eq!(adoption, expected, "for {}", me);
        }
    }

    /// Runs a broadcast over a network that delivers in any order.
    #[test]
    fn an_xcast_completes_at_the_head_after_everybody_processed_it(world in worlds(), picks in proptest::collection::vec(any::<prop::sample::Index>(), 1..64)) {
        enum Event { Message(u32), Process(u32), Ack { from: u32, to: u32 } }
        let mut nodes: BTreeMap<u32, Xcasts> = world.living.iter().map(|r| (*r, Xcasts::new())).collect();
        let head = nodes.get_mut(&0).expect("the head lives");
        let seq = head.start();
        prop_assert_eq!(head.forwarded(seq, &world.tree.children(DaemonRank::HEAD)), None);
        let mut events: Vec<Event> = vec![Event::Process(0)];
        events.extend(world.tree.children(DaemonRank::HEAD).iter().map(|c| Event::Message(c.0)));
        let (mut processed, mut complete, mut step) = (BTreeSet::new(), 0, 0);
        while !events.is_empty() {
            let at = picks[step % picks.len()].index(events.len());
            step += 1;
            let (who, progress) = match events.swap_remove(at) {
                Event::Message(to) => {
                    let me = DaemonRank(to);
                    let node = nodes.get_mut(&to).expect("living");
                    prop_assert_eq!(node.receive(seq), Receipt::New, "a link delivers once");
                    let children = world.tree.children(me);
                    events.extend(children.iter().map(|c| Event::Message(c.0)));
                    events.push(Event::Process(to));
                    (to, node.forwarded(seq, &children))
                }
                Event::Process(at) => {
                    processed.insert(at);
                    (at, nodes.get_mut(&at).expect("living").processed_here(seq))
                }
                Event::Ack { from, to } => (to, nodes.get_mut(&to).expect("living").acked_by(seq, DaemonRank(from))),
            };
            match progress {
                Some(Progress::AckParent) => events.push(Event::Ack { from: who, to: world.parents[&who] }),
                Some(Progress::Complete) => {
                    complete += 1;
                    prop_assert_eq!(&processed, &world.living);
                }
                None => {}
            }
        }
        prop_assert_eq!(complete, 1);
    }

    /// A path that loses whatever it likes, and now and then everything that is on it.
    #[test]
    fn whatever_is_lost_every_message_is_taken_once_and_in_order(fate in proptest::collection::vec(0u8..10, 1..400)) {
        enum Way { Message(u64), Probe(u64) }
        let (me, peer) = (DaemonRank(1), DaemonRank(2));
        let (mut sender, mut receiver) = (Streams::new(), Streams::<u64>::new());
        let (mut there, mut back, mut taken, mut now) = (VecDeque::new(), VecDeque::new(), Vec::new(), Timestamp(0));
        let mut sent = 0;
        // After the faults nothing is lost any more and everything must come through.
        let quiet = std::iter::repeat_n(3u8, 3_000);
        for what in fate.into_iter().chain(quiet) {
            match what {
                0 => there.clear(),
                1 => back.clear(),
                2 => drop(there.pop_front()),
                3 | 4 => {
                    match there.pop_front() {
                        Some(Way::Message(seq)) => {
                            let arrival = receiver.receive(me, seq, 1);
                            if arrival.take { taken.push(seq) }
                            back.extend(arrival.reply);
                        }
                        Some(Way::Probe(last)) => back.push_back(receiver.probed(me, last)),
                        None => {}
                    }
                    if let Some(ack) = back.pop_front() {
                        there.extend(sender.acked(peer, ack, now).into_iter().map(|(seq, _)| Way::Message(seq)));
                    }
                    now = now + Duration::from_millis(100);
                    there.extend(sender.overdue(now).into_iter().map(|(_, last)| Way::Probe(last)));
                }
                5 => now = now + Duration::from_millis(2_000),
                _ => {
                    sent += 1;
                    there.push_back(Way::Message(sender.send(peer, sent, now).seq));
                }
            }
        }
        prop_assert_eq!(taken, (1..=sent).collect::<Vec<_>>());
        prop_assert_eq!(sender.kept(), 0);
    }
}

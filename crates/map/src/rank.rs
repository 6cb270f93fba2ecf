//! Orders the processes of an app by rank.

use ferrite_types::RankBy;

/// The processes of one app on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnNode {
    /// Index of the node in the job.
    pub(crate) node: u32,
    /// Object of each process, in the order of mapping.
    pub(crate) objects: Vec<u32>,
}

/// The place of a mapped process: index of the node in the job, and object.
pub(crate) type Spot = (u32, u32);

/// Calls `take` for every process in the order of ranks.
pub(crate) fn each_in_order<E>(
    by: RankBy,
    mapped: &[OnNode],
    mut take: impl FnMut(Spot) -> Result<(), E>,
) -> Result<(), E> {
    match by {
        RankBy::Slot => {
            for on in mapped {
                on.objects.iter().try_for_each(|o| take((on.node, *o)))?;
            }
            Ok(())
        }
        RankBy::Node => {
            rounds(mapped.iter().map(|on| (on, on.objects.len())), |on, round| take((on.node, on.objects[round])))
        }
        RankBy::Fill => {
            for on in mapped {
                for (object, count) in per_object(on) {
                    (0..count).try_for_each(|_| take((on.node, object)))?;
                }
            }
            Ok(())
        }
        RankBy::Span => {
            let objects = mapped
                .iter()
                .flat_map(|on| per_object(on).into_iter().map(|(object, count)| ((on.node, object), count)));
            rounds(objects, |spot, _| take(spot))
        }
    }
}

/// Takes one member of each group per round. Linear in the number of members.
fn rounds<T: Copy, E>(
    groups: impl Iterator<Item = (T, usize)>,
    mut take: impl FnMut(T, usize) -> Result<(), E>,
) -> Result<(), E> {
    let mut open: Vec<(T, usize)> = groups.filter(|(_, members)| *members > 0).collect();
    let mut round = 0;
    while !open.is_empty() {
        open.iter().try_for_each(|(group, _)| take(*group, round))?;
        round += 1;
        open.retain(|(_, members)| *members > round);
    }
    Ok(())
}

/// Objects in their order with the number of processes on each.
fn per_object(on: &OnNode) -> Vec<(u32, usize)> {
    let mut sorted = on.objects.clone();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(by: RankBy) -> Vec<Spot> {
        let on = |node, objects: &[u32]| OnNode { node, objects: objects.to_vec() };
        let mut spots = Vec::new();
        let done: Result<(), ()> = each_in_order(by, &[on(0, &[0, 1, 0]), on(1, &[0, 1])], |spot| {
            spots.push(spot);
            Ok(())
        });
        done.unwrap();
        spots
    }

    #[test]
    fn the_four_orders_of_five_processes_on_two_nodes_of_two_objects() {
        assert_eq!(order(RankBy::Slot), [(0, 0), (0, 1), (0, 0), (1, 0), (1, 1)]);
        assert_eq!(order(RankBy::Node), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 0)]);
        assert_eq!(order(RankBy::Fill), [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(order(RankBy::Span), [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0)]);
    }
}

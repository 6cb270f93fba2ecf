//! Decides how many processes of an app each of its nodes gets.

use crate::placement_policy::Mapper;

/// Limits on the number of processes that a node can take for the current app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Free slots, after caps.
    pub(crate) free: u32,
    /// Processes up to `max_slots`; at least `free`.
    pub(crate) room: u32,
    /// Objects that `ppr` counts; 1 for the node itself.
    pub(crate) objects: u32,
    /// Processes for which there are processors (or devices); `None` = they are not counted.
    pub(crate) processors: Option<u32>,
    /// Processes that find what they take of the resources; `None` = they take none.
    pub(crate) resources: Option<u32>,
}

impl Limit {
    fn within(self, most: Option<u32>) -> Limit {
        let most = most.unwrap_or(u32::MAX);
        Limit { free: self.free.min(most), room: self.room.min(most), ..self }
    }
}

/// The limit that the processes exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// The slots.
    Slots,
    /// `max_slots`, with oversubscription.
    Room,
    /// `ppr`, which gives this many in total.
    Ppr(u32),
    /// The processors, which suffice for this many processes.
    Processors(u32),
    /// The resources, which suffice for this many processes.
    Resources(u32),
    /// The shared resources suffice for this many processes.
    Shared(u32),
}

/// The requested number of processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// `None`: all free slots, or what `ppr` gives.
    pub(crate) np: Option<u32>,
    /// True when a job without a number gets no more processes than there are processors or devices for.
    pub(crate) as_fits: bool,
    pub(crate) oversubscribe: bool,
    /// True when processes are spread evenly over the nodes.
    pub(crate) even: bool,
    /// Processes for which what all nodes share suffices; `None` = they take nothing of it.
    pub(crate) shared: Option<u32>,
}

/// Returns the number of processes on each node, within all limits (spec L149, L151).
pub(crate) fn plan(map: Mapper, wanted: Wanted, limits: &[Limit]) -> Result<Vec<u32>, TooMany> {
    let processed: Vec<Limit> = limits.iter().map(|limit| limit.within(limit.processors)).collect();
    let bound: Vec<Limit> = processed.iter().map(|limit| limit.within(limit.resources)).collect();
    let free = |limits: &[Limit]| clamp(sum(&limits.iter().map(|l| l.free).collect::<Vec<_>>()));
    let room = |limits: &[Limit]| clamp(sum(&limits.iter().map(|l| l.room).collect::<Vec<_>>()));
    let asked = wanted.np;
    let wanted = match asked {
        None if map.per_resource().is_none() => {
            let free = free(if wanted.as_fits { &bound } else { limits });
            Wanted { np: Some(free.min(wanted.shared.unwrap_or(u32::MAX))), ..wanted }
        }
        _ => wanted,
    };
    let plan = plan_within(map, wanted, &bound);
    if let Ok(plan) = plan {
        let short = wanted.shared.filter(|shared| sum(&plan) > u64::from(*shared));
        return short.map_or(Ok(plan), |shared| Err(TooMany::Shared(shared)));
    }
    if wanted.shared == Some(0) && plan_within(map, Wanted { np: asked, ..wanted }, &bound).is_ok() {
        return Err(TooMany::Shared(0));
    }
    // The first limit that is exceeded is the one to name; no process at all exceeds none.
    let wanted = Wanted { np: wanted.np.filter(|np| *np > 0 || asked == Some(0)), ..wanted };
    plan_within(map, wanted, limits)?;
    match plan_within(map, wanted, &processed) {
        Ok(_) => Err(TooMany::Resources(room(&bound))),
        Err(_) => Err(TooMany::Processors(room(&processed))),
    }
}

fn plan_within(map: Mapper, wanted: Wanted, limits: &[Limit]) -> Result<Vec<u32>, TooMany> {
    if let Some(per) = map.per_resource() {
        return plan_ppr(per, wanted.np, wanted.oversubscribe, limits);
    }
    match map {
        Mapper::Node if wanted.oversubscribe => plan_in_turn(wanted.np, limits),
        _ => plan_total(wanted.np, wanted.oversubscribe, limits, if wanted.even { level } else { fill }),
    }
}

/// Gives each node what `ppr` says. With a number, fills node after node up to that and to what earlier programs have
/// left there, until all processes are placed.
fn plan_ppr(per: u32, np: Option<u32>, oversubscribe: bool, limits: &[Limit]) -> Result<Vec<u32>, TooMany> {
    let wanted: Vec<u32> = limits.iter().map(|l| per.saturating_mul(l.objects)).collect();
    let total = sum(&wanted);
    if np.is_some_and(|np| u64::from(np) > total) {
        return Err(TooMany::Ppr(clamp(total)));
    }
    let left = |l: &Limit| if oversubscribe { l.room } else { l.free };
    let there: Vec<u32> = wanted.iter().zip(limits).map(|(wanted, l)| left(l).min(*wanted)).collect();
    if u64::from(np.unwrap_or(clamp(total))) > sum(&there) {
        return Err(if oversubscribe { TooMany::Room } else { TooMany::Slots });
    }
    Ok(np.map_or(there.clone(), |np| fill(np, &there)))
}

/// Deals one process after the other to the nodes in turn, up to `max_slots`. Slots do not count, as in the reference.
fn plan_in_turn(np: Option<u32>, limits: &[Limit]) -> Result<Vec<u32>, TooMany> {
    let np = np.unwrap_or_else(|| clamp(sum(&limits.iter().map(|l| l.free).collect::<Vec<_>>())));
    let room: Vec<u32> = limits.iter().map(|l| l.room).collect();
    match np {
        0 => Err(TooMany::Slots),
        _ if u64::from(np) > sum(&room) => Err(TooMany::Room),
        _ => Ok(level(np, &room)),
    }
}

fn plan_total(
    np: Option<u32>,
    oversubscribe: bool,
    limits: &[Limit],
    share: fn(u32, &[u32]) -> Vec<u32>,
) -> Result<Vec<u32>, TooMany> {
    let free: Vec<u32> = limits.iter().map(|l| l.free).collect();
    let slots = clamp(sum(&free));
    let np = np.unwrap_or(slots);
    if np == 0 {
        return Err(TooMany::Slots);
    }
    if np <= slots {
        return Ok(share(np, &free));
    }
    if !oversubscribe {
        return Err(TooMany::Slots);
    }
    // Every slot is taken; further processes spread evenly, as far as max_slots allows.
    let beyond: Vec<u32> = limits.iter().map(|l| l.room - l.free).collect();
    if u64::from(np - slots) > sum(&beyond) {
        return Err(TooMany::Room);
    }
    let extra = level(np - slots, &beyond);
    Ok(free.iter().zip(extra).map(|(a, b)| a + b).collect())
}

/// Fills each node to its limit before the next.
fn fill(total: u32, limits: &[u32]) -> Vec<u32> {
    let mut left = total;
    let take = |limit: &u32| {
        let n = left.min(*limit);
        left -= n;
        n
    };
    limits.iter().map(take).collect()
}

/// Deals processes one by one, in rounds over the nodes that are below their limit. `total` is at most the sum of the
/// limits.
fn level(total: u32, limits: &[u32]) -> Vec<u32> {
    let at = |level: u32| limits.iter().map(|l| u64::from(level.min(*l))).sum::<u64>();
    let (mut low, mut high) = (0, total);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if at(middle) <= u64::from(total) { low = middle } else { high = middle - 1 }
    }
    let mut rest = u64::from(total) - at(low);
    let take = |limit: &u32| {
        let one_more = u32::from(rest > 0 && *limit > low);
        rest -= u64::from(one_more);
        low.min(*limit) + one_more
    };
    limits.iter().map(take).collect()
}

fn sum(numbers: &[u32]) -> u64 {
    numbers.iter().map(|n| u64::from(*n)).sum()
}

fn clamp(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(free_room: &[(u32, u32)]) -> Vec<Limit> {
        free_room
            .iter()
            .map(|&(free, room)| Limit { free, room, objects: 1, processors: None, resources: None })
            .collect()
    }

    fn planned(map: Mapper, np: Option<u32>, oversubscribe: bool, limits: &[Limit]) -> Result<Vec<u32>, TooMany> {
        let even = map == Mapper::Node;
        plan(map, Wanted { np, as_fits: false, oversubscribe, even, shared: None }, limits)
    }

    #[test]
    fn by_slot_fills_a_node_before_the_next_and_by_node_deals_in_turn() {
        let limits = nodes(&[(4, 9), (4, 9), (4, 9)]);
        assert_eq!(planned(Mapper::Slot, Some(6), false, &limits), Ok(vec![4, 2, 0]));
        assert_eq!(planned(Mapper::Node, Some(7), false, &limits), Ok(vec![3, 2, 2]));
        assert_eq!(planned(Mapper::Slot, None, false, &limits), Ok(vec![4, 4, 4]));
    }

    #[test]
    fn dealing_in_turn_passes_over_full_nodes() {
        assert_eq!(level(9, &[1, 9, 2, 9]), [1, 3, 2, 3]);
        assert_eq!(level(10, &[1, 9, 2, 9]), [1, 4, 2, 3]);
        assert_eq!(level(0, &[1, 2]), [0, 0]);
    }

    #[test]
    fn what_exceeds_the_slots_spreads_evenly_up_to_max_slots() {
        let limits = nodes(&[(2, 3), (2, 100), (2, 100)]);
        assert_eq!(planned(Mapper::Slot, Some(12), true, &limits), Ok(vec![3, 5, 4]));
        assert_eq!(planned(Mapper::Slot, Some(7), false, &limits), Err(TooMany::Slots));
        assert_eq!(planned(Mapper::Slot, Some(204), true, &limits), Err(TooMany::Room));
    }

    #[test]
    fn by_node_with_oversubscription_deals_in_turn_up_to_max_slots_and_not_up_to_the_slots() {
        let limits = nodes(&[(4, 99), (4, 99), (2, 3)]);
        assert_eq!(planned(Mapper::Node, Some(9), true, &limits), Ok(vec![3, 3, 3]));
        assert_eq!(planned(Mapper::Node, Some(12), true, &limits), Ok(vec![5, 4, 3]));
        assert_eq!(planned(Mapper::Node, Some(9), false, &limits), Ok(vec![4, 3, 2]));
        assert_eq!(planned(Mapper::Node, Some(202), true, &limits), Err(TooMany::Room));
    }

    #[test]
    fn ppr_is_a_limit_per_node_and_np_may_be_less_but_not_more() {
        let limits = nodes(&[(4, 9), (4, 9)]);
        assert_eq!(planned(Mapper::PerNode(2), None, false, &limits), Ok(vec![2, 2]));
        assert_eq!(planned(Mapper::PerNode(2), Some(3), false, &limits), Ok(vec![2, 1]));
        assert_eq!(planned(Mapper::PerNode(2), Some(5), false, &limits), Err(TooMany::Ppr(4)));
        assert_eq!(planned(Mapper::PerNode(5), None, false, &limits), Err(TooMany::Slots));
        assert_eq!(planned(Mapper::PerNode(5), None, true, &limits), Ok(vec![5, 5]));
    }

    #[test]
    fn ppr_with_a_number_counts_what_is_left_on_each_node() {
        let limits = nodes(&[(1, 9), (0, 9), (4, 9)]);
        assert_eq!(planned(Mapper::PerNode(2), Some(3), false, &limits), Ok(vec![1, 0, 2]));
        assert_eq!(planned(Mapper::PerNode(2), Some(4), false, &limits), Err(TooMany::Slots));
        assert_eq!(planned(Mapper::PerNode(2), None, false, &limits), Err(TooMany::Slots));
        assert_eq!(planned(Mapper::PerNode(2), Some(3), true, &limits), Ok(vec![2, 1, 0]));
    }

    #[test]
    fn a_node_without_processors_is_passed_over_and_too_few_of_them_are_told_from_too_few_slots() {
        let mut limits = nodes(&[(4, 9), (4, 9)]);
        limits[0].processors = Some(1);
        assert_eq!(planned(Mapper::Slot, Some(5), false, &limits), Ok(vec![1, 4]));
        assert_eq!(planned(Mapper::Slot, Some(6), false, &limits), Err(TooMany::Processors(10)));
        assert_eq!(planned(Mapper::Slot, Some(9), false, &limits), Err(TooMany::Slots));
        assert_eq!(planned(Mapper::Slot, None, false, &limits), Err(TooMany::Processors(10)));
    }

    proptest::proptest! {
        #[test]
        fn level_deals_as_one_by_one_would(limits in proptest::collection::vec(0u32..9, 1..8), part in 0u32..64) {
            let total = part.min(limits.iter().sum());
            let mut dealt = vec![0; limits.len()];
            let mut left = total;
            while left > 0 {
                for (n, limit) in dealt.iter_mut().zip(&limits) {
                    if left > 0 && *n < *limit { *n += 1; left -= 1; }
                }
            }
            proptest::prop_assert_eq!(level(total, &limits), dealt);
        }
    }
}

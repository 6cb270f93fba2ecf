//! Scenarios about spreads: the data of every fence go down a tree of their own, while daemons and links are lost or
//! stand still, or the DVM changes its size.

use ferrite_types::MapBy;

use crate::fault;
use crate::network::Weather;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Client, Expect, JobPlan, Scenario, job};

impl Scenario {
    /// Draws a scenario about spreads.
    #[must_use]
    pub fn spreads(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0x59ae_ad00_0000_0001);
        if rng.permille(300) {
            return Scenario { second_tree_bytes: Some(1), ..Scenario::elastic(seed) };
        }
        let (daemons, radix) = (*rng.pick(&[4, 5, 8, 12, 16, 24]), *rng.pick(&[2, 3, 64]));
        let mut s =
            Scenario { persistent: true, slots: 2, second_tree_bytes: Some(1), ..Scenario::calm(seed, daemons, radix) };
        // Slow networks, so that faults meet spreads on their way.
        s.weather = *rng.pick(&[Weather::CALM, Weather { fastest: 1_000, slowest: 60_000, hiccups: 5 }]);
        for at in [0, 500_000] {
            let mut words = vec!["init".to_owned()];
            for _ in 0..rng.between(1, 8) {
                words.extend(["fence".to_owned(), format!("pause:{}", rng.between(0, 200_000))]);
            }
            words.push("finalize".to_owned());
            let mut spec = job(daemons, &words.join(" "));
            spec.map.by = Some(MapBy::Node);
            let client = Client { patient: true, ..Client::default() };
            s.jobs.push(JobPlan { client, ..JobPlan::new(at, spec, Expect::Anything) });
        }
        if rng.permille(800) {
            const UP: Time = 300_000;
            s.faults =
                fault::draw(&mut rng, daemons, radix).into_iter().map(|(at, fault)| (at / 4 + UP, fault)).collect();
        }
        s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::Referee;
    use crate::trace::Keep;
    use crate::world::World;

    /// The frames by kind of a fence of eight bytes on each of these daemons.
    fn kinds(daemons: u32) -> std::collections::BTreeMap<&'static str, u64> {
        let mut spec = job(daemons, "init fence finalize");
        spec.map.by = Some(MapBy::Node);
        let scenario = Scenario { second_tree_bytes: Some(1), slots: 1, ..Scenario::calm(1, daemons, 64) };
        let mut world = World::new(scenario.with_job(0, spec, Expect::Code(0)), Keep::Nothing, Referee::blind());
        world.begin();
        world.bill.tally = Some(crate::count::Tally::silent());
        world.play(None);
        world.bill.tally.take().unwrap_or_default().kinds
    }

    #[test]
    fn a_spread_says_everything_once_to_each_daemon() {
        let kinds = kinds(40);
        // Four equal pieces, and what is left.
        for (kind, frames) in [("spread-begin", 39), ("spread-piece", 5 * 39), ("spread-held", 39)] {
            assert_eq!(kinds.get(kind), Some(&frames), "{kind}: {kinds:?}");
        }
        assert!(!kinds.contains_key("spread-whole") && !kinds.contains_key("spread-ask"), "{kinds:?}");
        // Only what the others have said about collectives goes by the routing tree.
        assert!(!kinds.contains_key("collective-done"), "{kinds:?}");
    }
}

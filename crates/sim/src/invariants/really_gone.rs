//! Guarantee: a shrink ends after its daemons are gone, by clean exit or crash, and their nodes were offered back. Each
//! shrink has one order, and no daemon is sent away twice or declared lost afterwards (spec G6). A shrink whose nodes
//! have left with an earlier one has no order and no offer. When a fault has struck a daemon or its route, the daemon
//! counts as gone when its link is gone.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, LinkInput, Transition};
use ferrite_types::{CampaignId, CampaignKind, CampaignStep, DaemonRank, RankSet};
use ferrite_wire::{FrameKind, HeadMessage, Message, TreeMessage};

use super::changes::Changes;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct ReallyGone {
    changes: Changes,
    struck: Struck,
    ordered: BTreeSet<u64>,
    sent_away: RankSet,
    offered: BTreeSet<CampaignId>,
    answered: BTreeSet<CampaignId>,
    /// Shrinks that have waited for other campaigns and have not given their order.
    waited: BTreeSet<CampaignId>,
    /// The number of acknowledgements of each order to the head, by sender.
    acked: BTreeMap<(u64, DaemonRank), u32>,
    /// For each daemon: the leaving daemons that it knows to leave.
    heard: BTreeMap<DaemonRank, RankSet>,
    /// The daemon that notices a loss now, and the lost daemon.
    losing: Option<[DaemonRank; 2]>,
    ending: bool,
}

impl ReallyGone {
    pub(super) fn new(scenario: &Scenario) -> ReallyGone {
        ReallyGone {
            changes: Changes::default(),
            struck: Struck::new(scenario),
            ordered: BTreeSet::new(),
            sent_away: RankSet::new(),
            offered: BTreeSet::new(),
            answered: BTreeSet::new(),
            waited: BTreeSet::new(),
            acked: BTreeMap::new(),
            heard: BTreeMap::new(),
            losing: None,
            ending: false,
        }
    }

    fn ordered(&mut self, seq: u64, targets: &RankSet) -> Result<(), String> {
        if !self.ordered.insert(seq) {
            return Ok(());
        }
        require(!targets.contains(DaemonRank::HEAD), || "the head is told to leave its own DVM".to_owned())?;
        let twice = targets.iter().find(|rank| self.sent_away.contains(*rank));
        self.sent_away.insert_all(targets);
        require(twice.is_none(), || format!("daemon {twice:?} is told to leave a second time"))?;
        let known = self.changes.orders.get(&seq).is_some_and(Option::is_some);
        require(known, || format!("the order to {targets} to leave is for no campaign"))
    }

    fn gone(&self, id: CampaignId) -> Result<(), String> {
        let Some(change) = self.changes.get(id) else { return Ok(()) };
        let there = |rank: &DaemonRank| self.changes.alive.contains(rank) && !self.struck.on_the_way(*rank);
        let left = change.targets.iter().find(there);
        require(left.is_none(), || format!("the nodes of shrink {id} are offered, and daemon {left:?} is still there"))
    }

    fn says(&mut self, effect: &Effect, message: Option<&Message>) -> Result<(), String> {
        match (effect, message) {
            (Effect::OfferRelease { campaign, .. }, _) => {
                require(self.offered.insert(*campaign), || {
                    format!("the nodes of shrink {campaign} are offered twice")
                })?;
                self.gone(*campaign)
            }
            (
                Effect::Trace(Transition::Campaign { campaign, kind: CampaignKind::Shrink, step: CampaignStep::Done }),
                _,
            ) => {
                let answered = self.answered.contains(campaign) || self.waited.contains(campaign);
                require(answered, || format!("shrink {campaign} is done before the offer of its nodes was answered"))
            }
            (Effect::Trace(Transition::Campaign { campaign, kind: CampaignKind::Shrink, step }), _) => {
                match step {
                    CampaignStep::Behind | CampaignStep::Queued => self.waited.insert(*campaign),
                    CampaignStep::Leaving => self.waited.remove(campaign),
                    _ => false,
                };
                Ok(())
            }
            (Effect::Transmit { frame, .. }, Some(Message::Tree(TreeMessage::Shrink { targets }))) => {
                let FrameKind::Xcast { seq, .. } = frame.kind else { return Ok(()) };
                self.ordered(seq, targets)
            }
            (Effect::Transmit { .. }, Some(Message::Tree(TreeMessage::Died { ranks }))) => {
                let left = ranks.iter().find(|rank| self.sent_away.contains(*rank));
                require(left.is_none(), || format!("daemon {left:?} is declared lost, and was told to leave"))
            }
            _ => Ok(()),
        }
    }

    /// Notes what a daemon is about to handle.
    fn learns(&mut self, rank: DaemonRank, input: &Input, message: Option<&Message>) {
        self.losing = match input {
            Input::Link(LinkInput::LinkLost { peer, .. }) | Input::Link(LinkInput::ConnectFailed { peer, .. }) => {
                Some([rank, *peer])
            }
            _ => None,
        };
        if let Some(Message::Tree(TreeMessage::Shrink { targets })) = message {
            self.heard.entry(rank).or_default().insert_all(targets);
        }
    }

    /// Judges a reported loss: a daemon that has heard of another's order to leave does not report its loss. A parent
    /// may: its child can hear of the order earlier, from a child that has moved up, and the head then ignores the
    /// report.
    fn reports(&self, rank: DaemonRank, lost: DaemonRank) -> Result<(), String> {
        let finds_out = self.losing == Some([rank, lost]);
        let knows = self.heard.get(&rank).is_some_and(|leaving| leaving.contains(lost));
        let excused = self.struck.on_the_way(rank) || self.struck.on_the_way(lost) || self.ending;
        require(!finds_out || !knows || excused, || {
            format!("daemon {lost} is reported lost by {rank}, which has heard that it leaves")
        })
    }

    /// Handles the acknowledgements of an order at the head.
    fn hears(&mut self, input: &Input) -> Result<(), String> {
        match input {
            Input::Head(HeadInput::ReleaseOffered { campaign, .. }) => {
                self.answered.insert(*campaign);
            }
            Input::Terminate { .. } | Input::Head(HeadInput::Interrupt) => self.ending = true,
            Input::Link(LinkInput::Frame { from, frame }) => {
                if let FrameKind::XcastAck { seq } = frame.kind
                    && self.ordered.contains(&seq)
                {
                    // A daemon acknowledges once, and again when the head's order reaches it after a neighbour's.
                    let count = self.acked.entry((seq, *from)).or_default();
                    *count += 1;
                    return require(*count <= 2 || self.struck.on_the_way(*from), || {
                        format!("daemon {from} goes on acknowledging order {seq} to the head")
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Invariant for ReallyGone {
    fn name(&self) -> &'static str {
        "a shrink is done when its daemons are gone"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        self.struck.see(what);
        match what {
            Observation::Input { rank, input, message, .. } => {
                self.learns(*rank, input, *message);
                if *rank == DaemonRank::HEAD { self.hears(input) } else { Ok(()) }
            }
            Observation::Effect { rank: DaemonRank::HEAD, effect, message, .. } => self.says(effect, *message),
            Observation::Effect {
                rank,
                message: Some(Message::Head(HeadMessage::DaemonLost { rank: lost, .. })),
                ..
            } => self.reports(*rank, *lost),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrite_wire::{Dest, Frame};

    const PARENT: DaemonRank = DaemonRank(1);
    const CHILD: DaemonRank = DaemonRank(3);

    fn frame(kind: FrameKind) -> Frame {
        Frame { dest: Dest::All, origin: PARENT, kind, payload: bytes::Bytes::new() }
    }

    fn hear_order(check: &mut ReallyGone) {
        let input = Input::Link(LinkInput::Frame { from: DaemonRank::HEAD, frame: frame(FrameKind::Direct) });
        let message = Message::Tree(TreeMessage::Shrink { targets: RankSet::range(3, 4) });
        let heard = Observation::Input { rank: PARENT, at: 0, input: &input, message: Some(&message) };
        check.observe(&heard).unwrap();
    }

    fn lose_child(check: &mut ReallyGone) {
        let input = Input::Link(LinkInput::ConnectFailed { peer: CHILD, cause: String::new(), refused: true });
        check.observe(&Observation::Input { rank: PARENT, at: 0, input: &input, message: None }).unwrap();
    }

    fn report(check: &mut ReallyGone) -> Result<(), String> {
        let effect = Effect::Transmit { peer: DaemonRank::HEAD, frame: frame(FrameKind::Direct) };
        let message = Message::Head(HeadMessage::DaemonLost { rank: CHILD, cause: String::new() });
        check.observe(&Observation::Effect { rank: PARENT, at: 0, effect: &effect, message: Some(&message) })
    }

    #[test]
    fn only_who_has_heard_that_a_daemon_leaves_may_not_report_its_loss() {
        let mut check = ReallyGone::new(&Scenario::calm(1, 8, 2));
        lose_child(&mut check);
        assert!(report(&mut check).is_ok());
        hear_order(&mut check);
        assert!(report(&mut check).is_ok(), "that is the same report, sent again or passed on");
        lose_child(&mut check);
        assert!(report(&mut check).is_err());
    }
}

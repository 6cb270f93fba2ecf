//! The head's address book: where daemons listen, and who has to be told. Daemons find their neighbours in the tree by
//! it, at the start, in a grow and in a repair.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{Contact, DaemonMessage, Message};

use crate::cx::{Cx, Outgoing};
use crate::spread::Addressees;

/// The contacts and the processes of daemons.
#[derive(Debug)]
pub(super) struct Contacts {
    /// Addresses of the daemons that have reported or called.
    known: BTreeMap<DaemonRank, Contact>,
    /// Process ids of the daemons that have reported.
    pids: BTreeMap<DaemonRank, u32>,
    /// Daemons on bootstrap links, which wait to learn their tree parent.
    homeless: RankSet,
}

impl Contacts {
    /// The address book of a head that listens at this contact.
    pub(super) fn of_head(contact: &Contact) -> Contacts {
        Contacts {
            known: BTreeMap::from([(DaemonRank::HEAD, contact.clone())]),
            pids: BTreeMap::new(),
            homeless: RankSet::new(),
        }
    }

    /// Notes the report of a daemon.
    pub(super) fn on_report(&mut self, rank: DaemonRank, contact: Contact, pid: u32) {
        self.known.insert(rank, contact);
        self.pids.insert(rank, pid);
    }

    /// Notes the call of a daemon whose tree parent is not the head. The head names the parent as soon as that is up.
    pub(super) fn on_announce(&mut self, rank: DaemonRank, contact: Contact, cx: &mut Cx) {
        self.known.insert(rank, contact);
        self.homeless.insert(rank);
        self.rehome(cx);
    }

    /// Forgets daemons that have left.
    pub(super) fn forget(&mut self, ranks: &RankSet) {
        for rank in ranks.iter() {
            self.known.remove(&rank);
            self.pids.remove(&rank);
        }
    }

    pub(super) fn pid(&self, rank: DaemonRank) -> Option<u32> {
        self.pids.get(&rank).copied()
    }

    /// These daemons with their contacts; `None` when one of them is not known.
    pub(super) fn of(&self, ranks: &RankSet) -> Option<Addressees> {
        ranks.iter().map(|rank| Some((rank, self.known.get(&rank)?.clone()))).collect()
    }

    pub(super) fn homeless(&self) -> &RankSet {
        &self.homeless
    }

    /// Sends a rehome to each daemon that has called the head and whose tree parent is up (spec L6).
    pub(super) fn rehome(&mut self, cx: &mut Cx) {
        for rank in self.homeless.clone().iter() {
            let Some(parent) = cx.tree.parent(rank) else {
                continue;
            };
            let Some(contact) = self.known.get(&parent).cloned() else {
                continue;
            };
            self.homeless.remove(rank);
            cx.out.push_back(Outgoing::Direct(rank, Message::Daemon(DaemonMessage::Rehome { parent, contact })));
        }
    }

    /// Tells tree parents the contacts of the newcomers below them.
    pub(super) fn place_newcomers(&self, come: &RankSet, cx: &mut Cx) {
        for (parent, children) in self.by_parent(come.iter(), |rank| cx.tree.parent(rank)) {
            if come.contains(parent) {
                // A newcomer is first linked to the head only, and this link is the fastest way. When its own parent
                // is quicker with the wireup, the newcomer closes the link and loses the messages on it; so the head
                // sends the same again through the tree.
                cx.direct(parent, DaemonMessage::Adopt(children.clone()));
            }
            cx.send(parent, DaemonMessage::Adopt(children));
        }
    }

    /// Tells the new parents of orphans, or of daemons whose parent leaves, at which contacts these listen.
    pub(super) fn place_orphans(&self, dead: &RankSet, cx: &mut Cx) {
        let children = dead.iter().flat_map(|rank| cx.tree.children(rank)).filter(|child| !dead.contains(*child));
        let above = |orphan| cx.tree.ancestors(orphan).find(|above| !dead.contains(*above));
        for (parent, orphans) in self.by_parent(children, above) {
            cx.send(parent, DaemonMessage::Adopt(orphans));
        }
    }

    /// The contacts of these daemons by the parent that is to know them.
    fn by_parent(
        &self,
        ranks: impl Iterator<Item = DaemonRank>,
        parent: impl Fn(DaemonRank) -> Option<DaemonRank>,
    ) -> BTreeMap<DaemonRank, Vec<(DaemonRank, Contact)>> {
        let mut below: BTreeMap<DaemonRank, Vec<(DaemonRank, Contact)>> = BTreeMap::new();
        for rank in ranks {
            if let (Some(parent), Some(contact)) = (parent(rank), self.known.get(&rank)) {
                below.entry(parent).or_default().push((rank, contact.clone()));
            }
        }
        below
    }
}

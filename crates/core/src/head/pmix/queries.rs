//! Questions of processes and tools about the DVM (`PMIx_Query_info`): the head answers by what it shows to clients.

use ferrite_types::DaemonRank;
use ferrite_wire::{DaemonMessage, Fact, Subject};

use crate::cx::Cx;
use crate::head::Head;

impl Head {
    /// Answers questions. A question about a job that is over has the answer that there is no such job.
    pub(in crate::head) fn on_query(&mut self, daemon: DaemonRank, id: u64, about: &[Subject], cx: &mut Cx) {
        let facts = about.iter().map(|subject| self.fact(*subject, cx)).collect();
        cx.send(daemon, DaemonMessage::QueryReply { id, facts });
    }

    fn fact(&self, subject: Subject, cx: &Cx) -> Fact {
        match subject {
            Subject::Campaigns => Fact::Campaigns(self.campaign_statuses()),
            Subject::Nodes => Fact::Nodes(self.node_statuses()),
            Subject::Jobs => Fact::Jobs(self.jobs.iter().map(|job| self.job_status(job)).collect()),
            Subject::Job(id) => Fact::Job(self.job_detail(id).map(Box::new)),
            Subject::Sessions => Fact::Sessions(self.session_statuses(cx.now)),
            Subject::Sets => Fact::Sets(self.process_sets()),
        }
    }
}

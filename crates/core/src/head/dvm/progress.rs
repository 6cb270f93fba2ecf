//! Lines about the bring-up while it lasts: how many daemons are up and which nodes are awaited. The head's bring-up
//! calls it; it decides nothing about the bring-up.

use ferrite_types::{DaemonRank, Duration};

use crate::cx::Cx;
use crate::head::Head;
use crate::{Effect, HeadTimer};

/// The parameter that turns the lines on or off.
const PARAMETER: &str = "state_base_show_launch_progress";

/// The time between two lines that were asked for.
const OFTEN: Duration = Duration::from_secs(1);

/// The time before the first line that nobody has asked for, and between two of them.
const SELDOM: Duration = Duration::from_secs(2);

/// The largest number of nodes that a line names.
const MOST_NAMED: usize = 8;

/// The lines of one bring-up.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The time between two lines; `None` = there are none.
    period: Option<Duration>,
    /// The last line.
    told: Option<String>,
}

impl Head {
    /// Begins the lines: at once where they were asked for, after two seconds where only a terminal would show them.
    pub(super) fn begin_progress(&mut self, cx: &mut Cx) {
        let asked = self.params.flag(PARAMETER).unwrap_or(false);
        let period = match (asked, self.config.on_terminal && !self.params.is_set(PARAMETER)) {
            (true, _) => OFTEN,
            (false, true) => SELDOM,
            (false, false) => return,
        };
        self.dvm.progress.period = Some(period);
        if asked {
            self.tell_progress(cx);
        }
        cx.set_timer(HeadTimer::Progress, cx.now + period);
    }

    pub(in crate::head) fn on_progress_timer(&mut self, cx: &mut Cx) {
        let Some(period) = self.dvm.progress.period.filter(|_| !self.dvm.is_ready() && !self.dvm.is_ending()) else {
            return;
        };
        self.tell_progress(cx);
        cx.set_timer(HeadTimer::Progress, cx.now + period);
    }

    /// Ends the lines; the last one reports that all daemons are there, if there was one before it.
    pub(super) fn end_progress(&mut self, complete: bool, cx: &mut Cx) {
        if self.dvm.progress.period.take().is_none() {
            return;
        }
        cx.cancel_timer(HeadTimer::Progress);
        if complete && self.dvm.progress.told.is_some() {
            cx.effect(Effect::Progress(format!("all {} daemons up", cx.tree.size())));
        }
    }

    /// Shows the present state unless the last line says the same.
    fn tell_progress(&mut self, cx: &mut Cx) {
        let missing: Vec<DaemonRank> = self.dvm.missing().iter().collect();
        let all = cx.tree.size() as usize;
        let line = match missing.as_slice() {
            [] => format!("{all} of {all} daemons up; waiting for all of them to know each other"),
            missing => {
                let names: Vec<&str> = missing.iter().take(MOST_NAMED).map(|rank| self.node_name(*rank)).collect();
                let more = match missing.len() - names.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("{} of {all} daemons up; waiting for {}{more}", all - missing.len(), names.join(", "))
            }
        };
        if self.dvm.progress.told.as_ref() != Some(&line) {
            cx.effect(Effect::Progress(line.clone()));
            self.dvm.progress.told = Some(line);
        }
    }
}

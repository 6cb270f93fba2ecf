//! Orders for sessions, of clients, processes and tools: pause, resume, signal, end, more time, separation.

use ferrite_types::{DaemonRank, SessionId, Signal};
use ferrite_wire::DaemonMessage;
use ferrite_wire::control::{Reply, SessionChoice, SessionDirective, SessionOrder};

use super::instantiation::wish_of;
use super::registry::no_such_session;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::Reason;
use crate::pmix_status::PMIX_ERR_NO_PERMISSIONS;

impl Head {
    /// Handles an order of `pdvm session`. Its one reply comes now, or when the session is there.
    pub(in crate::head) fn on_session_request(
        &mut self,
        id: RequestId,
        choice: &SessionChoice,
        directive: &SessionDirective,
        cx: &mut Cx,
    ) {
        if let Some(wish) = wish_of(directive) {
            return self.instantiate_for_client(id, choice, wish, cx);
        }
        let reply = match self.control_session(choice, directive, cx) {
            Ok(()) => Reply::Ordered,
            Err(Reason { cause, .. }) => Reply::Refused(cause),
        };
        cx.reply(id, reply);
    }

    /// Handles `PMIx_Session_control` of a process or a tool at `daemon` (spec S30).
    pub(in crate::head) fn on_session_order(&mut self, daemon: DaemonRank, id: u64, order: &SessionOrder, cx: &mut Cx) {
        if let Some(wish) = wish_of(&order.directive) {
            return self.instantiate_for_daemon(daemon, id, order, wish, cx);
        }
        let result = match order.session {
            Some(session) => self.control_session(&SessionChoice::Id(session), &order.directive, cx),
            None => self.control_all_sessions(&order.directive, cx),
        };
        let result = result.map_err(|Reason { status, .. }| status);
        cx.send(daemon, DaemonMessage::SessionReply { id, result });
    }

    /// Applies an order to each session; the first refusal is the answer (spec S28).
    fn control_all_sessions(&mut self, directive: &SessionDirective, cx: &mut Cx) -> Result<(), Reason> {
        let ids: Vec<SessionId> = self.sessions.ids();
        let mut answer = if ids.is_empty() { Err(no_such_session()) } else { Ok(()) };
        for id in ids {
            // A child session may have ended with its parent just before.
            if self.sessions.has(id) {
                let result = self.control_session(&SessionChoice::Id(id), directive, cx);
                answer = answer.and(result);
            }
        }
        answer
    }

    /// Applies an order to one session; session 0 takes none (spec S28).
    fn control_session(
        &mut self,
        choice: &SessionChoice,
        directive: &SessionDirective,
        cx: &mut Cx,
    ) -> Result<(), Reason> {
        let id = self.sessions.session_of(choice, None)?;
        if id == SessionId::DVM {
            let cause = "Session 0 is the DVM's own: it ends with the DVM (pterm).";
            return Err(Reason::new(PMIX_ERR_NO_PERMISSIONS, cause));
        }
        match directive {
            SessionDirective::Instantiate(_) => unreachable!("it is about a session that is not there yet"),
            SessionDirective::Pause | SessionDirective::Resume => {
                let pause = *directive == SessionDirective::Pause;
                self.pause_session(id, pause, cx);
            }
            SessionDirective::Signal(signal) => {
                self.jobs.in_session(id).iter().for_each(|job| self.send_signal(*job, &[], *signal, cx))
            }
            SessionDirective::Terminate => {
                self.end_session(id, &format!("Session {id} was ended by request."), cx);
            }
            SessionDirective::Extend { seconds } => self.sessions.extend(id, *seconds, cx)?,
            SessionDirective::Separate => self.sessions.separate(id),
        }
        Ok(())
    }

    /// Stops the processes of a session and holds its jobs, or resumes both (spec S27).
    fn pause_session(&mut self, id: SessionId, pause: bool, cx: &mut Cx) {
        if !self.sessions.set_paused(id, pause) {
            return;
        }
        for job in self.jobs.in_session(id) {
            self.send_signal(job, &[], if pause { Signal::STOP } else { Signal::CONT }, cx);
        }
        if pause {
            // Queued jobs do not wait for the jobs of a paused session.
            self.serve_queue(cx);
        } else {
            self.admit_held(cx);
        }
    }
}

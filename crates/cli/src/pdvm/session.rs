//! `pdvm session`: the sessions in a table, and orders for one of them. The DVM's own session, number 0, is not in the
//! table, and takes no orders.

use std::path::Path;

use ferrite_types::SessionId;
use ferrite_wire::control::{Request, SessionChoice, SessionDirective, SessionStatus};

use ferrite_wire::{GrowRequest, SessionTerms};

use super::dvm::Dvm;
use super::failure::Failure;
use super::json::{self, SessionOrdered};
use super::moment::Moment;
use super::options::{SessionExtension, SessionName, SessionPlan, SessionSignal, SessionVerb};
use super::signal;
use super::text::{NONE, Side, Table, count, duration, or_none, plain};
use crate::args::{GrowAsk, UsageError};
use crate::setup::grow_request;

pub(super) fn list(dvm: &mut Dvm, json: bool) -> Result<String, Failure> {
    let (_, moment) = dvm.status()?;
    let sessions = dvm.sessions()?;
    Ok(if json { to_json(&sessions, &moment) } else { render(&sessions) })
}

fn to_json(sessions: &[SessionStatus], moment: &Moment) -> String {
    json::document("sessions", moment, json::Sessions { sessions: sessions.iter().map(json::Session::of).collect() })
}

fn render(sessions: &[SessionStatus]) -> String {
    let columns = [
        ("SESSION", Side::Right),
        ("ALLOCATION", Side::Left),
        ("REQUEST", Side::Left),
        ("RESERVED", Side::Left),
        ("PAUSED", Side::Left),
        ("ENDS IN", Side::Right),
        ("WARNS", Side::Left),
        ("PARENT", Side::Right),
        ("OWNER", Side::Left),
        ("JOBS", Side::Left),
        ("SLOTS", Side::Right),
        ("NODES", Side::Left),
    ];
    let mut table = Table::new(&columns);
    if sessions.is_empty() {
        return "There is no session but session 0, which is the DVM's own.\n".to_owned();
    }
    sessions.iter().for_each(|session| table.row(row(session)));
    table.render()
}

fn row(session: &SessionStatus) -> Vec<String> {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let list = |items: Vec<String>| if items.is_empty() { NONE.to_owned() } else { items.join(",") };
    vec![
        session.session.to_string(),
        plain(&session.alloc_id),
        or_none(session.req_id.as_deref().map(plain)),
        yes(session.reserved),
        yes(session.paused),
        or_none(session.seconds_left.map(|seconds| duration(seconds.saturating_mul(1_000_000)))),
        or_none(warning(session)),
        or_none(session.parent),
        or_none(session.owner.map(|job| format!("job {job}"))),
        list(session.jobs.iter().map(ToString::to_string).collect()),
        session.slots.to_string(),
        list(session.nodes.iter().map(|node| plain(node)).collect()),
    ]
}

/// Formats the time at which the requester is warned, or that it was warned.
fn warning(session: &SessionStatus) -> Option<String> {
    let before = session.warns_s?;
    Some(if session.warned {
        "done".to_owned()
    } else {
        format!("{} before", duration(before.saturating_mul(1_000_000)))
    })
}

/// An order for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    session: SessionChoice,
    directive: SessionDirective,
}

/// Returns the order of a line; `None` = the line asks for the list.
///
/// # Errors
/// The line names no session, or more than one.
pub(super) fn order(verb: SessionVerb) -> Result<Option<Order>, Failure> {
    let (name, directive) = match verb {
        SessionVerb::List => return Ok(None),
        SessionVerb::Instantiate(plan) => return instantiation(plan).map(Some),
        SessionVerb::Pause(name) => (name, SessionDirective::Pause),
        SessionVerb::Resume(name) => (name, SessionDirective::Resume),
        SessionVerb::Signal(SessionSignal { signal, name }) => (name, SessionDirective::Signal(signal)),
        SessionVerb::Extend(SessionExtension { seconds, name }) => (name, SessionDirective::Extend { seconds }),
        SessionVerb::Separate(name) => (name, SessionDirective::Separate),
        SessionVerb::Terminate(name) => (name, SessionDirective::Terminate),
    };
    let session = chosen(name, word(&directive))?;
    Ok(Some(Order { session, directive }))
}

fn instantiation(plan: SessionPlan) -> Result<Order, Failure> {
    let SessionPlan { session, alloc_id, host, req_id, reserve, time_limit, warn } = plan;
    let mut ask = GrowAsk::default();
    ask.add_hosts("--host", &host)?;
    let named = grow_request(&ask, Path::new(""))?;
    if named.is_none() && alloc_id.is_none() && req_id.is_none() {
        return Err(Failure::Usage(UsageError::Conflict {
            what: "session instantiate: on which nodes?".to_owned(),
            next: "Name an allocation with --alloc-id or --req-id, or nodes with --host.".to_owned(),
        }));
    }
    let terms = SessionTerms { reserve, time_limit_s: time_limit, warn_s: warn, ..SessionTerms::default() };
    let wish = GrowRequest { alloc_id, req_id, terms, ..named.unwrap_or_default() };
    let directive = SessionDirective::Instantiate(Box::new(wish));
    Ok(Order { session: SessionChoice::Id(SessionId(session)), directive })
}

fn chosen(name: SessionName, verb: &str) -> Result<SessionChoice, UsageError> {
    let wrong = |what: &str, next: &str| UsageError::Conflict {
        what: format!("session {verb}: {what}"),
        next: format!("{next}; `pdvm session list` lists what there is."),
    };
    match name {
        SessionName { session_id: Some(id), alloc_id: None, alloc_refid: None } => Ok(SessionChoice::Id(SessionId(id))),
        SessionName { session_id: None, alloc_id: Some(id), alloc_refid: None } => Ok(SessionChoice::Alloc(id)),
        SessionName { session_id: None, alloc_id: None, alloc_refid: Some(name) } => Ok(SessionChoice::Ref(name)),
        SessionName { session_id: None, alloc_id: None, alloc_refid: None } => {
            Err(wrong("which session?", "Name it with --session-id, --alloc-id or --alloc-refid"))
        }
        _ => {
            Err(wrong("more than one option names a session", "Keep one of --session-id, --alloc-id and --alloc-refid"))
        }
    }
}

/// Returns the directive's name, on a line and in JSON.
const fn word(directive: &SessionDirective) -> &'static str {
    match directive {
        SessionDirective::Instantiate(_) => "instantiate",
        SessionDirective::Pause => "pause",
        SessionDirective::Resume => "resume",
        SessionDirective::Signal(_) => "signal",
        SessionDirective::Terminate => "terminate",
        SessionDirective::Extend { .. } => "extend",
        SessionDirective::Separate => "separate",
    }
}

pub(super) fn carry_out(dvm: &mut Dvm, order: &Order, json: bool) -> Result<String, Failure> {
    let Order { session, directive } = order.clone();
    dvm.order(Request::Session { session, directive })?;
    if !json {
        return Ok(confirm(order));
    }
    // The status is read after the order, so that an error here does not keep the order from being given.
    let (_, moment) = dvm.status()?;
    Ok(order_to_json(order, &moment))
}

/// Confirms that the DVM has taken the order; its processes may follow later.
fn confirm(Order { session, directive }: &Order) -> String {
    let session = match session {
        SessionChoice::Default => "the job's session".to_owned(),
        SessionChoice::Id(id) => format!("session {id}"),
        SessionChoice::Alloc(id) => format!("the session of allocation {}", plain(id)),
        SessionChoice::Ref(name) => format!("the session of request {}", plain(name)),
    };
    match directive {
        SessionDirective::Instantiate(_) => format!("Made: {session}.\n"),
        SessionDirective::Pause => {
            format!("Paused: {session}. Its processes are stopped, and its jobs wait, until `pdvm session resume`.\n")
        }
        SessionDirective::Resume => format!("Resumed: {session}.\n"),
        SessionDirective::Signal(number) => {
            format!("Signal {} goes to the processes of {session}.\n", signal::told(*number))
        }
        SessionDirective::Terminate => {
            format!("Ending: {session}, with its jobs. The nodes that it has brought leave the DVM.\n")
        }
        SessionDirective::Extend { seconds } => {
            format!("Extended by {}: {session}.\n", count((*seconds).into(), "second", "seconds"))
        }
        SessionDirective::Separate => format!("Separated: {session}. It ends with no other session and no job.\n"),
    }
}

fn order_to_json(Order { session, directive }: &Order, moment: &Moment) -> String {
    let mut body = SessionOrdered::of(session, word(directive));
    match directive {
        SessionDirective::Signal(signal) => body.signal = Some(*signal),
        SessionDirective::Extend { seconds } => body.seconds = Some(*seconds),
        SessionDirective::Instantiate(_)
        | SessionDirective::Pause
        | SessionDirective::Resume
        | SessionDirective::Terminate
        | SessionDirective::Separate => {}
    }
    json::document("session_ordered", moment, body)
}

#[cfg(test)]
mod tests {
    use ferrite_types::Signal;

    use super::*;
    use crate::pdvm::samples;

    /// A session shows its fields (spec S34).
    #[test]
    fn sessions_with_all_and_with_nothing() {
        insta::assert_snapshot!(render(&samples::sessions()));
        insta::assert_snapshot!(to_json(&samples::sessions(), &samples::moment()));
    }

    #[test]
    fn without_sessions_it_says_that_there_is_none() {
        assert_eq!(render(&[]), "There is no session but session 0, which is the DVM's own.\n");
    }

    #[test]
    fn each_order_is_confirmed() {
        let to = |directive| Order { session: SessionChoice::Alloc("a1".into()), directive };
        let orders = [
            Order { session: SessionChoice::Id(SessionId(3)), directive: SessionDirective::Pause },
            Order { session: SessionChoice::Ref("weekend".into()), directive: SessionDirective::Resume },
            to(SessionDirective::Signal(Signal(10))),
            to(SessionDirective::Extend { seconds: 60 }),
            to(SessionDirective::Separate),
            to(SessionDirective::Terminate),
            Order {
                session: SessionChoice::Id(SessionId(7)),
                directive: SessionDirective::Instantiate(Box::default()),
            },
        ];
        insta::assert_snapshot!(orders.each_ref().map(confirm).concat());
        insta::assert_snapshot!(orders.each_ref().map(|order| order_to_json(order, &samples::moment())).concat());
    }

    #[test]
    fn a_session_is_made_on_something() {
        let plan = |host: &[&str], alloc_id: &[&str]| SessionPlan {
            session: 7,
            host: host.iter().map(|host| (*host).to_owned()).collect(),
            alloc_id: alloc_id.first().map(|id| (*id).into()),
            ..SessionPlan::default()
        };
        let Ok(Some(Order {
            session: SessionChoice::Id(SessionId(7)),
            directive: SessionDirective::Instantiate(wish),
        })) = order(SessionVerb::Instantiate(plan(&["n1:2,n2"], &["a1"])))
        else {
            panic!("an order")
        };
        assert_eq!((wish.hosts.len(), wish.alloc_id.as_deref()), (2, Some("a1")));
        assert!(order(SessionVerb::Instantiate(plan(&[], &[]))).is_err());
        assert!(order(SessionVerb::Instantiate(plan(&["^n1"], &[]))).is_err());
    }

    #[test]
    fn one_option_names_a_session_no_more_and_no_less() {
        let name = |session_id, alloc_id: &[&str]| SessionName {
            session_id,
            alloc_id: alloc_id.first().map(|id| (*id).into()),
            alloc_refid: None,
        };
        let wanted = Order { session: SessionChoice::Alloc("a1".into()), directive: SessionDirective::Pause };
        assert_eq!(order(SessionVerb::Pause(name(None, &["a1"]))).unwrap(), Some(wanted));
        assert_eq!(order(SessionVerb::List).unwrap(), None);
        let told = |verb| {
            let failure = order(verb).unwrap_err();
            crate::frame::framed("pdvm", &[&failure.to_string(), &failure.next_step()])
        };
        let signal = SessionSignal { signal: Signal(10), name: name(Some(1), &["a1"]) };
        insta::assert_snapshot!(
            [told(SessionVerb::Terminate(SessionName::default())), told(SessionVerb::Signal(signal))].join("\n")
        );
    }
}

//! `pdvm session`: what the DVM is asked, and what is refused before.

use ferrite_types::SessionId;
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective};

use crate::fake::{Fake, pdvm};
use crate::{is_framed, run, told};

#[test]
fn orders_reach_the_dvm_for_the_session_that_was_named() {
    let fake = Fake::new();
    let lines: [&[&str]; 6] = [
        &["pause", "--session-id", "3"],
        &["resume", "--alloc-id", "a1"],
        &["signal", "USR1", "--alloc-refid", "weekend"],
        &["extend", "--alloc-id", "a1", "60"],
        &["separate", "--alloc-id", "a1", "--json"],
        &["terminate", "--session-id", "3"],
    ];
    for args in lines {
        let (code, _, err) = told(&run(pdvm(&fake).arg("session").args(args)));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
    }
    let by_alloc = || SessionChoice::Alloc("a1".into());
    let wanted = [
        (SessionChoice::Id(SessionId(3)), SessionDirective::Pause),
        (by_alloc(), SessionDirective::Resume),
        (SessionChoice::Ref("weekend".into()), SessionDirective::Signal(ferrite_types::Signal(10))),
        (by_alloc(), SessionDirective::Extend { seconds: 60 }),
        (by_alloc(), SessionDirective::Separate),
        (SessionChoice::Id(SessionId(3)), SessionDirective::Terminate),
    ];
    assert_eq!(fake.asked(), wanted.map(|(session, directive)| Request::Session { session, directive }));
}

#[test]
fn a_line_that_names_no_session_or_several_is_refused_before_a_dvm_is_asked() {
    let fake = Fake::new();
    let lines: [&[&str]; 6] = [
        &[],
        &["pause"],
        &["terminate", "--session-id", "1", "--alloc-id", "a1"],
        &["signal", "--session-id", "1"],
        &["extend", "0", "--session-id", "1"],
        &["pause", "--alloc-id="],
    ];
    for args in lines {
        let (code, out, err) = told(&run(pdvm(&fake).arg("session").args(args)));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{args:?}");
        is_framed(&err);
    }
    assert_eq!(fake.asked(), []);
}

#[test]
fn the_dvm_says_no_in_its_own_words() {
    let cause = "There is no such session; `pdvm session list` lists them.";
    let fake = Fake::answering(move |_| Some(Reply::Refused(cause.to_owned())));
    let (code, out, err) = told(&run(pdvm(&fake).args(["session", "pause", "--session-id", "9"])));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    is_framed(&err);
    assert!(err.contains("There is no such session"), "{err}");
}

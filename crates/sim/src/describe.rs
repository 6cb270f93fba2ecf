//! Inputs and effects as short lines for the trace: enough to tell two runs apart, without bulk.

use ferrite_core::{DaemonInput, Effect, HeadInput, Input, LinkInput, PmixCall, PmixEffect, StageEffect, Transition};
use ferrite_wire::control::Request;
use ferrite_wire::{FilePiece, Frame, FrameKind, Message, Numbers};

/// A frame in a few words.
#[must_use]
pub(crate) fn frame(frame: &Frame, message: Option<&Message>) -> String {
    let what = match &frame.kind {
        FrameKind::Direct => " direct".to_owned(),
        FrameKind::Message { numbers, ack } => format!(" {} ack {ack}", numbered(numbers)),
        FrameKind::Probe(numbers) => format!(" probe {}", numbered(numbers)),
        FrameKind::Ack { upto, missing } => format!(" ack {upto}{}", if *missing { ", rest missing" } else { "" }),
        FrameKind::Xcast { seq, .. } => format!(" xcast {seq}"),
        FrameKind::XcastAck { seq } => format!(" xcast-ack {seq}"),
        FrameKind::Renewed => " renewed".to_owned(),
        FrameKind::Heartbeat => " heartbeat".to_owned(),
    };
    let dest = match &frame.dest {
        ferrite_wire::Dest::One(rank) => rank.to_string(),
        ferrite_wire::Dest::Many(ranks) => ranks.to_string(),
        ferrite_wire::Dest::All => "all".to_owned(),
    };
    let kind = message.map_or("-", Message::kind);
    format!("{kind}{what} {}->{dest} ({} B)", frame.origin, frame.payload.len())
}

fn numbered(numbers: &Numbers) -> String {
    match numbers {
        Numbers::Same(number) => format!("#{number}"),
        Numbers::Each(groups) => {
            let each: Vec<String> = groups.iter().map(|(number, ranks)| format!("#{number} to {ranks}")).collect();
            each.join(", ")
        }
    }
}

/// An input in a few words.
#[must_use]
pub(crate) fn input(input: &Input, message: Option<&Message>) -> String {
    match input {
        Input::Link(LinkInput::Frame { from, frame: f }) => format!("got from {from}: {}", frame(f, message)),
        Input::Head(HeadInput::Request { id, request: Request::Submit(submission) }) => {
            format!("submit {}: {:?}", id.0, submission.spec.apps.first().map(|a| &a.argv))
        }
        Input::Daemon(DaemonInput::Output { proc, stream, data }) => {
            format!("output {proc} {} {} B", stream.name(), data.len())
        }
        Input::Head(HeadInput::FileRead { request, piece: Ok(piece) }) => {
            format!("read for submission {}: {}", request.0, file_piece(piece))
        }
        Input::Daemon(DaemonInput::FileRead { job, piece: Ok(piece) }) => {
            format!("read for job {job}: {}", file_piece(piece))
        }
        Input::Head(HeadInput::Stdin { request, data }) => format!("stdin of {}: {} B", request.0, data.len()),
        Input::Daemon(DaemonInput::Pmix(call)) => pmix_call(call),
        other => format!("{other:?}"),
    }
}

fn file_piece(piece: &FilePiece) -> String {
    format!("file {} from {}, {} B, crc {:08x}", piece.entry, piece.offset, piece.data.len(), piece.sum)
}

fn pmix_call(call: &PmixCall) -> String {
    match call {
        PmixCall::Fence { members, data, token } => {
            let (job, ranks) = (members.job, members.ranks.len());
            format!("pmix fence job {job} {ranks} ranks {} B token {}", data.len(), token.0)
        }
        PmixCall::Spawn { proc, submission, token } => {
            let words = submission.spec.apps.first().map(|app| app.argv.join(" ")).unwrap_or_default();
            let apart = if submission.separate { " apart" } else { "" };
            format!("pmix {proc} spawns{apart} '{words}' token {}", token.0)
        }
        other => format!("pmix {other:?}"),
    }
}

/// An effect in a few words.
#[must_use]
pub(crate) fn effect(effect: &Effect, message: Option<&Message>) -> String {
    match effect {
        Effect::Transmit { peer, frame: f } => format!("send to {peer}: {}", frame(f, message)),
        Effect::LaunchDaemon { rank, command, ticket } => {
            format!(
                "launch daemon {rank} on {} by {} (subtree of {})",
                ticket.node,
                command.argv.join(" "),
                ticket.subtree.len()
            )
        }
        Effect::Spawn { proc, request } => format!("spawn {proc} {:?}", request.argv),
        Effect::WriteStdin { proc, data } => format!("write stdin {proc} {} B", data.len()),
        Effect::Stage { job, step: StageEffect::Write { entry, data } } => {
            format!("stage job {job} file {entry} {} B", data.len())
        }
        Effect::WriteFile { path, data, .. } => format!("write {path} {} B", data.len()),
        Effect::WriteOutput { sink, from: _, data, account } => format!("write {sink:?} {} B {account:?}", data.len()),
        Effect::Trace(Transition::Job { job, from, to }) => {
            format!("job {job}: {} -> {to}", from.map_or("-", |s| s.name()))
        }
        Effect::Trace(Transition::Proc { proc, from, to }) => format!("proc {proc}: {from} -> {to}"),
        Effect::Pmix(PmixEffect::Register(r)) => format!("pmix register job {} on {}", r.order.job, r.daemon),
        Effect::Pmix(PmixEffect::Reply { token, result }) => {
            format!("pmix reply token {} {:?}", token.0, result.as_ref().map(bytes::Bytes::len))
        }
        other => format!("{other:?}"),
    }
}

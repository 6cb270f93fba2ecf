//! `pdvm events`: the steps of jobs, one a line. With `--follow` it prints them as they happen, until the DVM ends or
//! the user presses Ctrl-C. It prints how many were lost because this reader was too slow.

use ferrite_client::{ClientEvent, ClientLoop, ConnectionError, Source};
use ferrite_types::{CampaignStep, JobId};
use ferrite_wire::Stream;
use ferrite_wire::control::{ClientMessage, DvmMessage, Event, EventKind, JobDetail};
use rustix::io::Errno;

use super::NAME;
use super::dvm::Dvm;
use super::event_line::Line;
use super::failure::Failure;
use super::json;
use super::text::count;
use crate::frame;
use crate::interrupts::ENDS;

/// The number of the only request.
const FOLLOW: u32 = 1;

/// Returns the steps of all jobs that the DVM remembers.
pub(super) fn so_far(dvm: &mut Dvm, json: bool) -> Result<String, Failure> {
    let mut details = Vec::new();
    for job in dvm.jobs()? {
        match dvm.job(job.job) {
            Ok(detail) => details.push(detail),
            // The DVM has forgotten the job since it was listed: its history is limited.
            Err(Failure::Refused(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    let events = past(&details);
    if events.is_empty() && !json {
        return Ok(super::jobs::NO_JOBS.to_owned());
    }
    Ok(events.iter().map(|event| line(event, json)).collect())
}

/// Returns the steps of these jobs in the order of time.
fn past(details: &[JobDetail]) -> Vec<Event> {
    let of = |detail: &JobDetail| {
        let job = detail.status.job;
        detail
            .states
            .clone()
            .into_iter()
            .map(move |(state, at_us)| Event { at_us, what: EventKind::Job { job, state } })
    };
    let mut events: Vec<Event> = details.iter().flat_map(of).collect();
    events.sort_by_key(|event| event.at_us);
    events
}

/// Prints the events from now on.
pub(super) fn follow(dvm: Dvm, json: bool) -> Result<(), Failure> {
    let client = ClientLoop::new(dvm.into_connection(), Source::stdin(), &ENDS);
    let mut client = client.map_err(Failure::Machine)?;
    client.send(&ClientMessage::Follow { id: FOLLOW });
    loop {
        match client.next(None) {
            ClientEvent::Message(DvmMessage::Event { event, .. }) => {
                client.write(Stream::Stdout, line(&event, json).as_bytes());
            }
            ClientEvent::Message(DvmMessage::EventsLost { count, .. }) => {
                client.write(Stream::Stdout, lost(count, json).as_bytes());
            }
            // A signal is the ordinary end.
            ClientEvent::Signal(_) => return Ok(()),
            ClientEvent::OutputBroken(Stream::Stdout, error) => return broken(error),
            ClientEvent::Gone(ConnectionError::Lost { dvm, .. }) => {
                if json {
                    client.write(Stream::Stdout, json::line(&Line::ended(&dvm)).as_bytes());
                }
                client.finish();
                if !json {
                    frame::print(&format!("{NAME}: the DVM {dvm} has ended\n"));
                }
                return Ok(());
            }
            ClientEvent::Gone(error) => return Err(error.into()),
            _ => {}
        }
    }
}

fn broken(error: Errno) -> Result<(), Failure> {
    if error == Errno::PIPE { Ok(()) } else { Err(Failure::Output(error.into())) }
}

fn line(event: &Event, json: bool) -> String {
    if json { json::line(&Line::of(event)) } else { render(event) }
}

fn lost(events: u64, json: bool) -> String {
    match json {
        true => json::line(&Line::lost(events)),
        false => format!(
            "{:>16} lost here: they came faster than they were read\n",
            count(events, "event was", "events were")
        ),
    }
}

fn render(event: &Event) -> String {
    let name = |job: JobId| if job == JobId::DAEMONS { "DVM".to_owned() } else { format!("job {job}") };
    let (who, state) = match event.what {
        EventKind::Campaign { campaign, kind, step: CampaignStep::Pushed } => {
            (format!("{kind} {campaign}"), "PUSHED by the scheduler")
        }
        EventKind::Campaign { campaign, kind, step } => (format!("{kind} {campaign}"), step.name()),
        EventKind::Size { job, is_offer, procs, step } => {
            let sign = if is_offer { '+' } else { '-' };
            (format!("job {job} size {sign}{procs}"), step.name())
        }
        EventKind::Job { job, state } => (name(job), state.name()),
        EventKind::Proc { job, rank, state } => (format!("{} rank {rank}", name(job)), state.name()),
    };
    format!("{:>16.6}  {who:<18}  {state}\n", json::seconds(event.at_us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn each_step_is_a_line() {
        let all = |json| samples::events().iter().map(|e| line(e, json)).collect::<String>() + &lost(17, json);
        insta::assert_snapshot!(all(false));
        insta::assert_snapshot!(all(true));
    }

    #[test]
    fn the_past_is_in_the_order_of_time_across_jobs() {
        let events = past(&[samples::detail(), samples::failed()]);
        assert!(events.is_sorted_by_key(|event| event.at_us));
        assert_eq!(events.len(), samples::detail().states.len() + samples::failed().states.len());
    }
}

//! The pages of `top`: one job, one node, the keys. Pure.

use ferrite_wire::control::NodeStatus;

use super::grid::broken;
use super::state::{Page, Seen, State};
use crate::pdvm::job;
use crate::pdvm::jobs::{ran_for_us, state as state_of};
use crate::pdvm::nodes::resources;
use crate::pdvm::text::{Side, Table, count, duration, or_none, plain};

const KEYS: &str = "\
q, Ctrl-C   leave
?           this page, and back
Esc         back: from a page to the lists, from a filter to all, from the lists away
j k         down and up (also the arrows); Page Down and Page Up by ten; g and G to the ends
Tab         to the other list: jobs or nodes
Enter       a page with all of the chosen job or node
m           the places of the chosen job's processes instead of the nodes
/           show only jobs and nodes that have a text in their line
s           the next order of the list with the cursor
r           the reverse order of that list
K           end the chosen job, after a question
Ctrl-Z      stop until `fg`

A text that is cut ends with `…`. The title of a list names the columns that have no room; a wider terminal has them.
Colours are left out when the variable NO_COLOR is set.";

/// Returns the title of a page.
pub(super) fn title(page: &Page) -> String {
    match page {
        Page::Job(id) => format!("JOB {id}"),
        Page::Node(name) => format!("NODE {}", plain(name)),
        Page::Help => "KEYS".to_owned(),
        Page::Lists => String::new(),
    }
}

/// Returns the lines of the page that is shown, none wider than the terminal.
pub(super) fn lines(state: &State, seen: &Seen, width: usize) -> Vec<String> {
    let text = match &state.page {
        Page::Lists => String::new(),
        Page::Help => KEYS.to_owned(),
        Page::Node(name) => match seen.nodes.iter().find(|node| node.name == *name) {
            Some(node) => node_page(node, seen),
            None => "This node has left the DVM.".to_owned(),
        },
        Page::Job(id) => match &seen.detail {
            Some((of, Some(detail))) if of == id => job::render(detail, &seen.moment),
            Some((of, None)) if of == id => "The DVM has forgotten this job.".to_owned(),
            _ => "Asking the DVM ...".to_owned(),
        },
    };
    broken(&text, width)
}

fn node_page(node: &NodeStatus, seen: &Seen) -> String {
    let daemon = node.daemon.map_or_else(|| "none".to_owned(), |rank| format!("rank {rank}"));
    let most = match node.max_slots {
        0 => "no limit with oversubscription".to_owned(),
        most => format!("at most {most} with oversubscription"),
    };
    let processes: u32 = node.jobs.iter().map(|(_, processes)| processes).sum();
    let mut text = String::new();
    let mut say = |name: &str, value: String| text.push_str(&format!("  {name:<10} {value}\n"));
    say("State", plain(&node.state));
    say("Daemon", daemon);
    say("Slots", format!("{} of {} in use, {most}", node.slots_in_use, node.slots));
    say("Cores", node.cores.to_string());
    say("Resources", resources(node));
    say("Processes", format!("{processes} of {}", count(node.jobs.len() as u64, "job", "jobs")));
    let columns = [
        ("JOB", Side::Right),
        ("HERE", Side::Right),
        ("PROCS", Side::Right),
        ("STATE", Side::Left),
        ("RAN FOR", Side::Right),
        ("COMMAND", Side::Left),
    ];
    let mut table = Table::new(&columns);
    for (id, here) in &node.jobs {
        let job = seen.jobs.iter().find(|job| job.job == *id);
        table.row(vec![
            id.to_string(),
            here.to_string(),
            or_none(job.map(|job| job.procs)),
            or_none(job.map(state_of)),
            or_none(job.and_then(|job| ran_for_us(job, &seen.moment)).map(duration)),
            job.map(|job| plain(&job.command)).unwrap_or_default(),
        ]);
    }
    if node.jobs.is_empty() { text } else { format!("{text}\n{}", table.render()) }
}

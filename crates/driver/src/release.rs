//! Gives nodes that have left the DVM back: to the resource manager that granted them, and then to the site's own
//! command (`ferrite_release_command`), for managers that Ferrite does not know. Only the engine calls it.

use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use ferrite_core::{HeadInput, Input};
use ferrite_rm::managers::slurm::job::{SlurmJob, question};
use ferrite_rm::managers::slurm::release::{Release, end, release};
use ferrite_rm::{GiveBack, Share};
use ferrite_types::CampaignId;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::Inbox;
use crate::extension::command;
use crate::session_dir::SessionDir;

/// A command that takes longer hangs and is given up.
const LIMIT: Duration = Duration::from_secs(60);

/// Lock under which offers are made one after the other.
pub(crate) type Turn = Rc<tokio::sync::Mutex<()>>;

/// The nodes of one offer.
pub(crate) struct Offer {
    pub(crate) campaign: CampaignId,
    pub(crate) nodes: Vec<String>,
    /// The nodes, grouped by jobs of the manager.
    pub(crate) back: Vec<GiveBack>,
}

/// Offers nodes and reports the end through the inbox, whatever the outcome.
pub(crate) fn offer(site: Option<&str>, offer: Offer, session_dir: &SessionDir, turn: &Turn, inbox: &Inbox) {
    let Offer { campaign, nodes, back } = offer;
    let site = site.filter(|command| !command.trim().is_empty()).map(str::to_owned);
    if site.is_none() && back.is_empty() {
        let _ = inbox.send(Input::Head(HeadInput::ReleaseOffered { campaign, kept: Vec::new(), error: None }));
        return;
    }
    let (inbox, session_dir, turn) = (inbox.clone(), session_dir.clone(), Rc::clone(turn));
    tokio::task::spawn_local(async move {
        // The list of a job's remaining nodes is correct for one command at a time.
        let _turn = turn.lock().await;
        let (mut kept, mut errors) = (Vec::new(), Vec::new());
        // The command may write files for shells; here they are removed with the session.
        let dir = session_dir.dir().unwrap_or(Path::new("/"));
        for back in back {
            if let Some(Kept { nodes, why }) = give_back(&back, dir).await {
                let which =
                    if nodes.is_empty() { format!("{} job {}", back.manager, back.job) } else { nodes.join(", ") };
                errors.push(format!("{which} could not be given back to {}: {why}.", back.manager));
                kept.extend(nodes);
            }
        }
        if let Some(command) = site {
            errors.extend(tell_site(&command, &nodes).await);
        }
        let error = (!errors.is_empty()).then(|| errors.join("\n"));
        let _ = inbox.send(Input::Head(HeadInput::ReleaseOffered { campaign, kept, error }));
    });
}

/// Nodes that could not be given back.
struct Kept {
    nodes: Vec<String>,
    why: String,
}

async fn give_back(back: &GiveBack, dir: &Path) -> Option<Kept> {
    let all = || match &back.share {
        Share::Whole => Vec::new(),
        Share::Part { leave, .. } => leave.clone(),
    };
    match given_back(back, dir).await {
        Ok(kept) => kept,
        Err(why) => Some(Kept { nodes: all(), why }),
    }
}

async fn given_back(back: &GiveBack, dir: &Path) -> Result<Option<Kept>, String> {
    let Share::Part { leave, .. } = &back.share else {
        return command::run(&end(&back.job), dir).await.map(|_| None);
    };
    let answer = command::run(&question(&back.job), dir).await?;
    let known = SlurmJob::parse(&answer).map_err(|flaw| flaw.to_string())?;
    let Release { command, kept, why } = release(&back.job, leave, &known);
    if let Some(command) = command {
        command::run(&command, dir).await?;
    }
    Ok(why.map(|why| Kept { nodes: kept, why }))
}

async fn tell_site(command: &str, nodes: &[String]) -> Option<String> {
    match tokio::time::timeout(LIMIT, run(command, nodes)).await {
        Ok(Ok(())) => None,
        Ok(Err(cause)) => Some(format!("`{command}` (ferrite_release_command) failed: {cause}.")),
        Err(_) => Some(format!("`{command}` (ferrite_release_command) took longer than {} s.", LIMIT.as_secs())),
    }
}

async fn run(command: &str, nodes: &[String]) -> Result<(), String> {
    // The command is split into words and runs without a shell: the names come over standard input.
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        let text: String = nodes.iter().flat_map(|node| [node.as_str(), "\n"]).collect();
        // A command that does not read the names does not need them.
        let _ = stdin.write_all(text.as_bytes()).await;
    }
    let status = child.wait().await.map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn outcome(command: &str) -> Option<String> {
        let (inbox, mut outbox) = tokio::sync::mpsc::unbounded_channel();
        let nodes = vec!["n1".to_owned(), "n2".to_owned()];
        let session_dir = SessionDir::planned(Path::new("/nowhere"), "prte", 1);
        offer(
            Some(command),
            Offer { campaign: CampaignId(3), nodes, back: Vec::new() },
            &session_dir,
            &Turn::default(),
            &inbox,
        );
        match outbox.recv().await {
            Some(Input::Head(HeadInput::ReleaseOffered { campaign: CampaignId(3), kept, error })) => {
                assert!(kept.is_empty());
                error
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn whatever_the_command_does_the_campaign_goes_on() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            assert_eq!(outcome("").await, None);
            assert_eq!(outcome("grep -qx n2").await, None, "the names come on standard input");
            assert!(outcome("grep -qx n3").await.unwrap().contains("exit status: 1"));
            assert!(outcome("/no/such/command").await.unwrap().contains("No such file"));
        });
    }
}

//! Nodes that have left the DVM are offered back: to the site's own command (`ferrite_release_command`), for resource managers
//! that this program does not know. Only the engine calls it.

use std::process::Stdio;
use std::time::Duration;

use ferrite_core::Input;
use ferrite_types::CampaignId;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::Inbox;

/// A command that takes longer hangs; nobody waits for it any more.
const LIMIT: Duration = Duration::from_secs(60);

/// Offers nodes and reports through the inbox when that is done, whatever came of it.
pub(crate) fn offer(command: Option<&str>, campaign: CampaignId, nodes: Vec<String>, inbox: &Inbox) {
    let Some(command) = command.filter(|command| !command.trim().is_empty()).map(str::to_owned) else {
        let _ = inbox.send(Input::ReleaseOffered { campaign, trouble: None });
        return;
    };
    let inbox = inbox.clone();
    tokio::task::spawn_local(async move {
        let trouble = match tokio::time::timeout(LIMIT, run(&command, &nodes)).await {
            Ok(Ok(())) => None,
            Ok(Err(cause)) => Some(format!("`{command}` (ferrite_release_command) failed: {cause}.")),
            Err(_) => Some(format!("`{command}` (ferrite_release_command) took longer than {} s.", LIMIT.as_secs())),
        };
        let _ = inbox.send(Input::ReleaseOffered { campaign, trouble });
    });
}

async fn run(command: &str, nodes: &[String]) -> Result<(), String> {
    // Words, and no shell: the names come over standard input.
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        let text: String = nodes.iter().flat_map(|node| [node.as_str(), "\n"]).collect();
        // A command that does not read them is content without.
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
        offer(Some(command), CampaignId(3), vec!["n1".to_owned(), "n2".to_owned()], &inbox);
        match outbox.recv().await {
            Some(Input::ReleaseOffered { campaign: CampaignId(3), trouble }) => trouble,
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

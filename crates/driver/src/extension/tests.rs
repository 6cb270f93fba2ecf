//! Slurm as four scripts. `PATH` is one for the whole process, so the test that uses the scripts runs in a process of
//! its own.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use ferrite_rm::{Manager, NodeAsk, Wish};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::LocalSet;

use super::*;
use ferrite_core::HeadInput;

const SQUEUE: &str = r#"env | grep -E '^(SLURM|SALLOC)_' >> "$PLACE/squeue.env"
case "$*" in
*--jobs=7*) printf 'RUNNING\nn[0-1]\n30:00\nmain\n(null)\n(null)\n(null)\n(null)\nNO\n2\n8\nN/A\nhead\n' ;;
*--jobs=9*) printf 'RUNNING\nn[5-6]\n30:00\nmain\n(null)\n(null)\n(null)\n(null)\nNO\n2\n8\nN/A\nhead\n' ;;
*) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1 ;;
esac"#;
const SALLOC: &str = r#"echo "$*" >> "$PLACE/salloc.args"
case "$*" in
*--nodes=99*) echo 'salloc: error: Job submit/allocate failed: Requested node configuration is not available' >&2; exit 1 ;;
*--nodes=3*) trap 'echo "salloc: Job aborted due to signal" >&2; exit 1' TERM
    echo 'salloc: Pending job allocation 12' >&2; echo 'salloc: job 12 queued and waiting for resources' >&2
    while :; do sleep 0.02; done ;;
*--nodes=4*) echo 'salloc: Granted job allocation 13' >&2 ;;
*) echo 'salloc: Pending job allocation 9' >&2; echo 'salloc: job 9 queued and waiting for resources' >&2
    echo 'salloc: Granted job allocation 9' >&2 ;;
esac"#;
const SCANCEL: &str = r#"echo "$*" >> "$PLACE/scancel.args""#;

#[test]
fn nodes_are_asked_for_awaited_granted_refused_and_given_back() {
    let dir = tempfile::tempdir().unwrap();
    for (name, script) in [("squeue", SQUEUE), ("salloc", SALLOC), ("scancel", SCANCEL)] {
        let file = dir.path().join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "extension::tests::inside", "--ignored", "--nocapture"]);
    command.env("PATH", format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap()));
    command.env("PLACE", dir.path()).env("SLURM_JOB_ID", "7").env("SALLOC_PARTITION", "x").env("SLURM_CONF", "/c");
    // Other tests fork and inherit any open pipe: the output of this one goes into a file.
    let words = dir.path().join("words");
    let file = std::fs::File::create(&words).unwrap();
    let status = command.stdout(file.try_clone().unwrap()).stderr(file).status().unwrap();
    assert!(status.success(), "{}", std::fs::read_to_string(words).unwrap());
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    // Of the variables of the surrounding job only that of the configuration; the format of times is ours.
    let theirs = |line: &str| line == "SLURM_CONF=/c" || line == "SLURM_TIME_FORMAT=%s";
    assert!(read("squeue.env").lines().all(theirs), "{}", read("squeue.env"));
    let uid = rustix::process::getuid().as_raw();
    assert_eq!(read("scancel.args"), format!("12\n13\n9\n--user={uid} --name=dvm.of.7\n"));
    let asked = read("salloc.args");
    assert!(asked.lines().all(|line| line.starts_with("--no-shell --job-name=dvm.of.7 --nodes=")), "{asked}");
}

async fn next(outbox: &mut UnboundedReceiver<Input>) -> Input {
    tokio::time::timeout(Duration::from_secs(20), outbox.recv()).await.expect("in time").expect("an input")
}

#[test]
#[ignore = "run by the test above, with scripts in PATH"]
fn inside() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let (inbox, mut outbox) = tokio::sync::mpsc::unbounded_channel();
        let session_dir = SessionDir::planned(dir.path(), "prte", 1);
        let extensions = Extensions::new(inbox, &session_dir);
        assert_eq!(left_behind(session_dir.path()), None, "nothing was asked for");
        let ask = |nodes, parent: &str| NodeAsk {
            manager: Manager::Slurm,
            parent: parent.to_owned(),
            name: "dvm.of.7".to_owned(),
            wish: Wish::Nodes(nodes),
            queue: None,
            slots: Some(2),
            time_limit_s: None,
            has: Vec::new(),
        };
        let refused = |input| match input {
            Input::Head(HeadInput::NodesRefused { cause, .. }) => cause,
            other => panic!("{other:?}"),
        };
        extensions.request(ExtensionId(1), ask(2, "7"));
        let awaited = next(&mut outbox).await;
        assert!(
            matches!(&awaited, Input::Head(HeadInput::NodesAwaited { says, .. }) if says.contains("queued")),
            "{awaited:?}"
        );
        let Input::Head(HeadInput::NodesGranted { extension: ExtensionId(1), job, nodes }) = next(&mut outbox).await
        else {
            panic!()
        };
        let names: Vec<&str> = nodes.iter().map(|host| host.name.as_str()).collect();
        assert_eq!((job.as_str(), &names[..], nodes[0].rm_job.as_deref()), ("9", &["n5", "n6"][..], Some("9")));

        extensions.request(ExtensionId(2), ask(99, "7"));
        let cause = "Job submit/allocate failed: Requested node configuration is not available";
        assert_eq!(refused(next(&mut outbox).await), cause);
        extensions.request(ExtensionId(3), ask(1, "8"));
        assert_eq!(refused(next(&mut outbox).await), "squeue: slurm_load_jobs error: Invalid job id specified");

        extensions.request(ExtensionId(4), ask(3, "7"));
        assert!(matches!(next(&mut outbox).await, Input::Head(HeadInput::NodesAwaited { .. })));
        extensions.withdraw(ExtensionId(4));
        while extensions.shared.busy.get() > 0 {
            extensions.shared.idle.notified().await;
        }
        // The job is granted, but its nodes cannot be found out: it goes back and counts as refused.
        extensions.request(ExtensionId(5), ask(4, "7"));
        assert!(refused(next(&mut outbox).await).contains("Invalid job id"));

        extensions.end("9".to_owned());
        let Input::Head(HeadInput::AllocationEnded { job, error: None }) = next(&mut outbox).await else { panic!() };
        assert_eq!(job, "9");
        assert!(left_behind(session_dir.path()).is_some_and(|command| command.contains(&"--name=dvm.of.7".to_owned())));
        extensions.finish().await;
        assert!(outbox.try_recv().is_err(), "nothing more is heard");
        session_dir.remove();
    });
}

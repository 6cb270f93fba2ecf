//! `cargo xtask pictures`: the pictures of the book that a real DVM draws: `pdvm top`, and the traces of an elastic job
//! and of a batch (`pdvm trace --html`).
//!
//! The DVM has four nodes, all on this machine. What its processes do is sleep: the pictures need a quiet machine only
//! for steady times.

use std::fs;
use std::num::NonZero;
use std::process::Child;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::args::Args;
use crate::programs::pmix_program;
use crate::runner::{announce, build_product, wait};
use crate::screen::OnScreen;
use crate::soak::Soak;
use crate::workspace::root;

/// Longest time for each step.
const LIMIT: Duration = Duration::from_secs(60);
/// The elastic job works on between two changes of its size, so that a reader sees it.
const BETWEEN: Duration = Duration::from_secs(2);
/// Work of the elastic job: so many seconds with the processes that it has first.
const WORK: &str = "24";
const TASKS: u32 = 90;
/// The terminal of `pdvm top` (letters).
const ROWS: NonZero<u16> = NonZero::new(26).unwrap();
const COLUMNS: NonZero<u16> = NonZero::new(118).unwrap();

/// `cargo xtask pictures`
pub(crate) fn main(args: Args) -> Result<()> {
    args.finish()?;
    build_product()?;
    let works = pmix_program("works")?;
    announce("a DVM of four nodes with an elastic job, a batch and jobs that wait");
    let options = ["--prtemca", "plm", "local", "--prtemca", "prte_elastic_mode", "1"];
    let dvm = Soak::start_with(&[&options[..], &["--host", "n0:4,n1:4,n2:4,n3:4"]].concat())?;
    fs::copy(works, dvm.dir().join("works"))?;
    let prun = |words: &[&str]| -> Result<Child> { Ok(dvm.tool("prun").args(words).current_dir(dvm.dir()).spawn()?) };
    let resize = |size: &str| -> Result<()> {
        ended(dvm.tool("pdvm").args(["resize", "1", size, "--wait"]).spawn()?, "pdvm resize", Some(0))
    };
    let elastic = prun(&["--elastic", "2:14", "--grace", "10", "-n", "6", "./works", WORK])?;
    let mut top = OnScreen::start(dvm.tool("pdvm").args(["top", "--interval", "0.5"]), ROWS, COLUMNS)?;
    top.until(|screen| screen.contains("works"), LIMIT)?;
    ended(prun(&["-n", "1", "sh", "-c", "exit 3"])?, "a job that fails", Some(3))?;
    resize("=12")?;
    std::thread::sleep(BETWEEN);
    resize("=4")?;
    let list = dvm.dir().join("fit.list");
    let task = |index: u32| format!("sleep {:.2}\n", 0.15 + f64::from(index * 37 % 90) / 100.0);
    fs::write(&list, (0..TASKS).map(task).collect::<String>())?;
    let mut batch = dvm.tool("prun");
    ended(batch.arg("--batch").arg(&list).arg("--detach").spawn()?, "prun --batch --detach", Some(0))?;
    let waits = prun(&["--wait-for-slots", "-n", "12", "sleep", "0.5"])?;
    top.until(|screen| screen.matches("sleep").count() > 4, LIMIT)?;
    let mut pictures = vec![("top.svg", top.taken("pdvm top", "q")?)];
    ended(dvm.tool("pdvm").args(["batch", "attach", "b1"]).spawn()?, "pdvm batch attach", Some(0))?;
    ended(waits, "the job that waits", Some(0))?;
    resize("=14")?;
    ended(elastic, "the elastic job", Some(0))?;
    for (file, of, heading) in [
        ("trace-job.svg", &["2"][..], "<h2>States"),
        ("trace-sizes.svg", &["1"], "<h2>Processes"),
        ("trace-batch.svg", &["--batch", "b1"], "<h2>Where"),
    ] {
        let page = dvm.dir().join("page.html");
        ended(dvm.tool("pdvm").arg("trace").args(of).arg("--html").arg(&page).spawn()?, "pdvm trace", Some(0))?;
        let text = fs::read_to_string(&page)?;
        pictures.push((file, chart_below(heading, &text)?.to_owned()));
    }
    dvm.stop()?;
    for (file, picture) in pictures {
        let path = root().join("docs/images").join(file);
        fs::write(&path, picture)?;
        println!("written to {}", path.display());
    }
    Ok(())
}

/// Waits for the end of a command, which must have this exit code.
fn ended(mut child: Child, what: &str, code: Option<i32>) -> Result<()> {
    let status = wait(&mut child, LIMIT)?.with_context(|| format!("{what} does not end"))?;
    ensure!(status.code() == code, "{what}: {status}");
    Ok(())
}

/// The chart of a page below this heading.
fn chart_below<'a>(heading: &str, page: &'a str) -> Result<&'a str> {
    let part = page.split_once(heading).with_context(|| format!("the page has no part {heading}"))?.1;
    let (from, to) = (part.find("<svg").context("no chart")?, part.find("</svg>").context("no end of the chart")?);
    Ok(&part[from..to + "</svg>\n".len()])
}

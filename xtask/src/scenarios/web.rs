//! The page about a DVM (`pdvm web`): what it shows, to whom, and how it ends.

use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};

/// Where Debian has it. CI does without: it is larger than all the rest of the set-up.
const BROWSER: &str = "/usr/bin/chromium";
/// The name of a program that would be an element, if a page read it as HTML.
const WICKED: &str = "<img src=x onerror=alert(1)>";

/// Requests as they are written, and the first line of each answer; then the names of the nodes, and the programs.
const CLIENT: &str = r#"
import json, socket, sys
host, token = sys.argv[1].removeprefix("http://").split("/#")
name, port = host.split(":")

def ask(text):
    with socket.create_connection((name, int(port)), timeout=20) as s:
        s.sendall(text.replace("\n", "\r\n").encode())
        answer = b"".join(iter(lambda: s.recv(65536), b"")).decode()
    head, _, body = answer.partition("\r\n\r\n")
    return head, body

def status(text):
    return ask(text)[0].split(" ")[1]

def api(what, key):
    return f"GET /api/{what} HTTP/1.1\nHost: {host}\nAuthorization: Bearer {key}\n\n"

page, _ = ask(f"GET / HTTP/1.1\nHost: {host}\n\n")
assert "default-src 'none'" in page, page
print(status(f"GET / HTTP/1.1\nHost: {host}\n\n"), status(api("status", token)), status(api("status", "no")),
      status(f"GET / HTTP/1.1\nHost: evil.example\n\n"), status(f"POST / HTTP/1.1\nHost: {host}\n\n"),
      status(api("job/999", token)), status("nonsense\n\n"))
print(" ".join(node["name"] for node in json.loads(ask(api("nodes", token))[1])["nodes"]))
print(json.loads(ask(api("job/1", token))[1])["command"])
"#;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![a_browser_sees_the_dvm_and_nobody_else_does]
}

fn a_browser_sees_the_dvm_and_nobody_else_does(c: &Context) -> Result<()> {
    c.tool("prte", "--daemonize --host n0:2,n1:2")?.run()?.code(0)?;
    c.tool("prun", "-n 2 --map-by node sh -c")?.words(["true", WICKED])?.run()?.code(0)?;
    let mut web = c.tool("pdvm", "web")?.start_unread()?;
    let mut url = String::new();
    BufReader::new(web.child().stdout.take().context("no stdout")?).read_line(&mut url)?;
    let url = url.trim().to_owned();
    let client = c.program_on(0, "/usr/bin/python3", "-c")?.words([CLIENT, &url])?.run()?.code(0)?;
    let answers: Vec<&str> = client.stdout.lines().collect();
    ensure!(answers[0] == "200 200 401 421 405 404 400", "the answers are {}", answers[0]);
    ensure!(answers[1] == "n0 n1" && answers[2].contains(WICKED), "it shows {answers:?}");
    match Path::new(BROWSER).exists() {
        true => see(c, &url)?,
        false => c.note(format!("without a browser: there is no {BROWSER}")),
    }
    stop_dvm(c)?;
    let ended = finish(web)?.code(0)?;
    ended.complains_about(&["has ended"]).map(drop)
}

/// A browser without a window draws the page.
fn see(c: &Context, url: &str) -> Result<()> {
    let home = c.bed().shared().join("browser");
    let call =
        c.program_on(0, BROWSER, "--headless --no-sandbox --disable-gpu --virtual-time-budget=6000 --dump-dom")?;
    let dom = call.env("HOME", &home).words([url])?.run()?.code(0)?.stdout;
    std::fs::remove_dir_all(&home).ok();
    for part in ["<b>n0</b>", "<b>n1</b>", "jobs ended", "sh -c true '&lt;img src=x"] {
        ensure!(dom.contains(part), "the page lacks '{part}':\n{dom}");
    }
    ensure!(!dom.contains("<img"), "the name of a program is an element of the page");
    Ok(())
}

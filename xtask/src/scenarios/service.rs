//! The service of a DVM (docs/service.md), through the Python package that speaks it.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Call, Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::workspace::{product, root};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        the_python_package_passes_its_tests,
        the_python_examples_run,
        the_service_is_on_every_node_and_survives_its_clients,
        the_service_is_reached_through_a_bridge_with_the_key_and_through_a_daemon,
    ]
}

/// Debian's Python on a node, with the package and our commands in its paths.
fn python<'a>(c: &'a Context, node: usize, line: &str) -> Result<Call<'a>> {
    let (commands, path) = (product("prte"), std::env::var("PATH").unwrap_or_default());
    let commands = commands.parent().context("no directory")?.display();
    let call = c.program_on(node, "/usr/bin/python3", line)?.env("PYTHONPATH", root().join("python"));
    Ok(call.env("PATH", format!("{commands}:{path}")))
}

fn the_python_package_passes_its_tests(c: &Context) -> Result<()> {
    let outcome = python(c, 0, "-B -m unittest discover -s")?.words([root().join("python/tests")])?.run()?.code(0)?;
    let count = outcome.stderr.lines().find_map(|line| line.strip_prefix("Ran ")).context("no summary")?;
    c.note(count.to_owned());
    Ok(())
}

fn the_python_examples_run(c: &Context) -> Result<()> {
    let run = |example: &str, hosts: &str| -> Result<String> {
        let program = root().join("examples/python").join(example);
        Ok(python(c, 0, "-B")?.words([program])?.words(hosts.split(' '))?.run()?.code(0)?.stdout)
    };
    let futures = run("futures.py", "n0:2 n1:2")?;
    ensure!(futures.contains("'task 7'") && futures.contains("functions: [7, 158, 1135, 2568]"), "{futures}");
    let workflow = run("workflow.py", "n0:2 n1:2")?;
    ensure!(workflow.contains("sums: [1, 3, 5, 7, 9, 11]") && workflow.contains("failed: 3 no data"), "{workflow}");
    let elastic = run("elastic.py", "n0 n1 n2")?;
    ensure!(elastic.contains("grown by n1, n2") && elastic.contains("nodes: ['n0']"), "{elastic}");
    Ok(())
}

/// Submits a task by name through a daemon's socket, dies, and comes back at another node.
fn the_service_is_on_every_node_and_survives_its_clients(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let submit = c.file(
        "submit.py",
        "import os, signal\nfrom ferrite_dvm import Dvm\ndvm = Dvm.connect()\n\
         assert dvm.submit('hostname', host='n3').result(30).text == 'n3\\n'\n\
         big = dvm.submit(['head', '-c', '3000000', '/dev/zero'], host='n1').result(60)\n\
         assert len(big.stdout) == 3000000\n\
         dvm.submit('sleep 1; exit 9', name='mine', detach=True).wait_submitted(30)\n\
         dvm.submit(['sleep', '1000']).wait_submitted(30)\n\
         os.kill(os.getpid(), signal.SIGKILL)\n",
    )?;
    let come_back = c.file(
        "back.py",
        "from ferrite_dvm import Dvm\ndvm = Dvm.connect()\n\
         print(dvm.wait(names=['mine'], timeout=30)[0]['exit_code'], dvm.cancel(name='mine'))\n\
         print(sorted({job['ending'] for job in dvm.jobs() if job['name'] == 'sleep'}))\n",
    )?;
    python(c, 2, "-B")?.words([submit])?.run()?.failure()?;
    c.wait_for(0, "sleep")?;
    let back = python(c, 1, "-B")?.words([come_back])?.run()?.code(0)?;
    ensure!(back.stdout == "9 False\n['killed']\n", "{}", back.tail());
    stop_dvm(c)
}

/// `pdvm service` over TCP on n1 under the Python package, and through the daemon of n2 by hand (spec L153).
fn the_service_is_reached_through_a_bridge_with_the_key_and_through_a_daemon(c: &Context) -> Result<()> {
    let (hostfile, uri) = (c.hostfile(2)?, c.bed().shared().join("uri"));
    let prte = c.tool("prte", "--daemonize --listen 0 --hostfile")?.words([hostfile])?.words(["--report-uri"])?;
    prte.words([&uri])?.run()?.code(0)?;
    let contact = std::fs::read_to_string(&uri)?;
    let line = contact.lines().find_map(|line| line.strip_prefix("key ")).context("the contact names no key")?;
    let copied = crate::runner::run(c.bed().command(0, "cat")?.arg(line), Duration::from_secs(10))?.code(0)?;
    let key = c.private_file("key", &copied.stdout)?;
    let (uri, key) = (uri.display(), key.display());
    let far = c.file(
        "far.py",
        &format!(
            "import os, signal\nfrom ferrite_dvm import Dvm\ndvm = Dvm.connect(uri='file:{uri}', key='{key}')\n\
             every = dvm.submit(['hostname'], np=4, options=['--map-by', 'node']).result(30)\n\
             print(sorted(every.text.split()), every.exit_code, flush=True)\n\
             dvm.submit('sleep 1; exit 9', name='mine', detach=True).wait_submitted(30)\n\
             dvm.submit(['sleep', '1000'], np=4, options=['--map-by', 'node']).wait_submitted(30)\n\
             os.kill(os.getpid(), signal.SIGKILL)\n"
        ),
    )?;
    let first = python(c, 1, "-B")?.words([far])?.run()?.failure()?;
    ensure!(first.stdout == "['n0', 'n1', 'n2', 'n3'] 0\n", "{}", first.tail());
    c.wait_for(0, "pdvm")?;
    c.wait_for(0, "sleep")?;
    let mut near = c.tool_on(2, "pdvm", "service")?.with_stdin().start()?;
    let wait = "{\"schema\":1,\"kind\":\"wait\",\"tasks\":[\"mine\"]}\n{\"schema\":1,\"kind\":\"nodes\"}";
    std::io::Write::write_all(&mut near.child().stdin.take().context("no stdin")?, wait.as_bytes())?;
    let near = finish(near)?.code(0)?;
    let kinds: Vec<_> = near.stdout.lines().filter_map(|line| line.split('"').nth(5)).collect();
    ensure!(kinds.last() == Some(&"closed") && kinds.contains(&"nodes"), "{}", near.tail());
    ensure!(near.stdout.contains("\"kind\":\"waited\"") && near.stdout.contains("\"exit_code\":9"), "{}", near.tail());
    stop_dvm(c)
}

//! Faults in the nodes' network: lines are cut, made slow, connections reset.

use std::process::Stdio;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};

use super::bed::enter;
use super::state::Identity;
use super::{Bed, node_name};
use crate::workspace;

impl Bed {
    /// Cuts or mends the network of a node.
    pub(crate) fn link(&self, index: usize, up: bool) -> Result<()> {
        self.node(index)?;
        self.switch(self.head(), &format!("v{index}"), up).with_context(|| format!("the link of {}", node_name(index)))
    }

    /// Switches a node's own interface; its kernel reports at once that there is no route.
    pub(crate) fn interface(&self, index: usize, up: bool) -> Result<()> {
        self.switch(self.node(index)?, "eth0", up).with_context(|| format!("the interface of {}", node_name(index)))
    }

    fn switch(&self, namespace: Identity, device: &str, up: bool) -> Result<()> {
        self.was_cut.store(true, Ordering::Relaxed);
        let ip = workspace::which("ip").context("ip is missing")?;
        let mut command = enter(namespace, &["--net"])?;
        command.arg("--").arg(ip).args(["link", "set", device, if up { "up" } else { "down" }]);
        ensure!(command.status()?.success(), "it cannot be switched");
        Ok(())
    }

    /// Makes the network of a node slow, in both directions, or as fast as before. Returns how, in words: each packet
    /// late, or, where the kernel cannot do that (no netem), a line so narrow that a full packet takes as long and the
    /// next ones wait for it.
    pub(crate) fn slow_link(&self, index: usize, slow: bool) -> Result<&'static str> {
        const WAYS: [(&str, &[&str]); 2] = [
            ("each packet 200 ms late", &["netem", "delay", "200ms"]),
            ("64 kbit/s, 200 ms for a full packet", &["tbf", "rate", "64kbit", "burst", "1600", "latency", "400ms"]),
        ];
        if !slow {
            self.tc(index, &["qdisc", "del"], &[])?;
            return Ok("as before");
        }
        let mut last = None;
        for (words, way) in WAYS {
            match self.tc(index, &["qdisc", "replace"], way) {
                Ok(()) => return Ok(words),
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("no way to make a link slow")?)
    }

    /// `tc VERB dev DEVICE root WAY` at both ends of a node's line.
    fn tc(&self, index: usize, verb: &[&str], way: &[&str]) -> Result<()> {
        let tc = workspace::which("tc").context("tc is missing (package iproute2)")?;
        let ends = [(self.head(), format!("v{index}")), (self.node(index)?, "eth0".to_owned())];
        for (namespace, device) in ends {
            let mut command = enter(namespace, &["--net"])?;
            command.arg("--").arg(&tc).args(verb).args(["dev", &device, "root"]).args(way);
            let output = command.stdin(Stdio::null()).output()?;
            ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// Resets the TCP connections from node `index` to `peer`, so that both ends learn of it; ssh is spared. Returns
    /// how many there were.
    pub(crate) fn reset(&self, index: usize, peer: usize) -> Result<usize> {
        let ss = workspace::which("ss").context("ss is missing (package iproute2)")?;
        let mut command = enter(self.node(index)?, &["--net"])?;
        command.arg("--").arg(ss).args(["-K", "-H", "-t", "-n", "state", "established"]);
        command.arg(format!("dst {} and sport != :22 and dport != :22", super::address(peer)));
        let output = command.stdin(Stdio::null()).output()?;
        ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(String::from_utf8_lossy(&output.stdout).lines().count())
    }
}

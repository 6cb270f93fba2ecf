//! Throw-away ssh keys and configuration: each bed has its own, shown to its nodes as `/etc/ssh`.
//!
//! The user's own keys and configuration are neither read nor changed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{address, node_name};
use crate::workspace::which;

const CLIENT: &str = "\
Host *
  IdentityFile /etc/ssh/bed_user_key
  IdentitiesOnly yes
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  LogLevel ERROR
  # For the tests alone: which libpmix the daemons are to load.
  SendEnv FERRITE_*
  # The post-quantum default costs 80 ms of computing per connection; the nodes have nothing to hide.
  KexAlgorithms curve25519-sha256
";

// PAM is off, because it would start session managers; so is DNS, which the nodes lack. Any environment is accepted, as
// a site might allow.
const SERVER: &str = "\
Port 22
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
PidFile /run/sshd.pid
MaxStartups 100:30:200
MaxSessions 100
AcceptEnv *
Subsystem sftp internal-sftp
";

/// Fills `etc` with the files that the nodes of a bed see as `/etc/ssh`, `/etc/hosts` and `/etc/hostname`.
pub(super) fn write(etc: &Path, nodes: &[usize]) -> Result<()> {
    let ssh = etc.join("ssh");
    fs::create_dir_all(&ssh)?;
    // Both keys are made at the same time, because the start of ssh-keygen takes most of it.
    let (host, user) = (start_keygen(&ssh, "ssh_host_ed25519_key")?, start_keygen(&ssh, "bed_user_key")?);
    fs::write(etc.join("hosts"), hosts(nodes))?;
    for &index in nodes {
        fs::write(etc.join(format!("hostname.{}", node_name(index))), node_name(index) + "\n")?;
    }
    fs::write(ssh.join("ssh_config"), CLIENT)?;
    fs::write(ssh.join("sshd_config"), SERVER)?;
    for mut keygen in [host, user] {
        ensure!(keygen.wait()?.success(), "ssh-keygen failed");
    }
    fs::copy(ssh.join("bed_user_key.pub"), ssh.join("authorized_keys"))?;
    let public = fs::read_to_string(ssh.join("ssh_host_ed25519_key.pub"))?;
    let names: Vec<String> = nodes.iter().flat_map(|&i| [node_name(i), address(i)]).collect();
    // The nodes share one host key: a key for each would cost 5 ms a node and prove nothing more.
    fs::write(ssh.join("ssh_known_hosts"), format!("{},localhost {public}", names.join(",")))?;
    Ok(())
}

fn start_keygen(dir: &Path, name: &str) -> Result<std::process::Child> {
    let program = which("ssh-keygen").context("ssh-keygen is missing: run `cargo xtask setup`")?;
    let mut command = Command::new(program);
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "testbed", "-f"]).arg(dir.join(name));
    command.stdin(Stdio::null()).spawn().context("cannot start ssh-keygen")
}

fn hosts(nodes: &[usize]) -> String {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
    for &index in nodes {
        text.push_str(&format!("{} {}\n", address(index), node_name(index)));
    }
    text
}

//! From a parsed line to a job that can start: reads parameter files and hostfiles, decides the allocation, collects what is
//! forwarded. Called once by each command; starts nothing.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ferrite_rm::{
    Allocation, AllocationError, AppHosts, HostList, Hostfile, HostfileError, ParamError, Params, Sources, ThisMachine,
    allocate, hostfile, hostlist,
};
use ferrite_types::{EnvOp, HostSelection, JobSpec, MapBy, StdinTarget};
use ferrite_wire::control::Submission;
use thiserror::Error;

use crate::args::{AppPlace, Environment, Run, UsageError, forwardable_signals, is_launch_identity, parse_signals};
use crate::machine::{Surroundings, addresses};
use crate::prte::PrteRun;

/// Everything that is known before the first daemon starts.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The job, with hosts and directories.
    pub spec: JobSpec,
    /// All parameters, in the order of their names.
    pub params: Vec<(String, String)>,
    /// The nodes.
    pub allocation: Allocation,
    /// The daemon of our own installation, used unless the parameter `prte_launch_agent` is set.
    pub prted: String,
    /// Directory of the user.
    pub cwd: String,
    /// For every process of every app.
    pub forwarded_env: Vec<EnvOp>,
    /// Signals to pass on.
    pub signals: Vec<i32>,
    /// Remarks.
    pub warnings: Vec<String>,
}

/// Everything that a client needs before it looks for its DVM.
#[derive(Clone, Debug)]
pub struct ClientSetup {
    /// What the parsed line asks for; its parameters are applied, and hosts are in the apps.
    pub run: Run,
    /// For every process of every app.
    pub forwarded_env: Vec<EnvOp>,
    /// Signals to pass on.
    pub signals: Vec<i32>,
    /// Parameter `prte_tmpdir_base`.
    pub tmpdir_base: Option<String>,
    /// All parameters.
    pub params: Params,
}

/// The nodes of a DVM that outlives its jobs, and all parameters.
#[derive(Clone, Debug)]
pub struct DvmSetup {
    /// All parameters, in the order of their names.
    pub params: Vec<(String, String)>,
    /// The nodes.
    pub allocation: Allocation,
    /// The daemon of our own installation.
    pub prted: String,
    /// Directory of the user.
    pub cwd: String,
    /// Signals to pass on to jobs.
    pub signals: Vec<i32>,
}

/// Why a job cannot be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// Found only when parameters were known.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// Root, without permission.
    #[error("running as root is refused, because a slip of a program can then destroy this system")]
    Root,
    /// A file that cannot be read.
    #[error("cannot read the {kind} {path}: {cause}")]
    File {
        /// What it is for.
        kind: &'static str,
        /// Its name.
        path: String,
        /// Why not.
        cause: String,
        /// What to do.
        next: &'static str,
    },
    /// A hostfile that cannot be understood.
    #[error(transparent)]
    Hostfile(#[from] HostfileError),
    /// A parameter that cannot be used.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// No nodes.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
}

impl SetupError {
    /// What the user can do about it; empty when the message says so itself.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            SetupError::Usage(error) => error.next_step(),
            SetupError::Root => "Run as an ordinary user. If root is meant, give --allow-run-as-root, or set both \
                PRTE_ALLOW_RUN_AS_ROOT=1 and PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1."
                .to_owned(),
            SetupError::File { next, .. } => (*next).to_owned(),
            SetupError::Param(_) => {
                "Parameters come from --prtemca, PRTE_MCA_* of the environment, and the parameter files (prterun --help parameters)."
                    .to_owned()
            }
            SetupError::Hostfile(_) | SetupError::Allocation(_) => String::new(),
        }
    }
}

/// Sets the job of `prterun` up.
///
/// # Errors
/// The first obstacle.
pub fn prepare(mut run: Run, around: &Surroundings) -> Result<Prepared, SetupError> {
    check_root(run.allow_root, around)?;
    let mut params = load_params(&run.params, around)?;
    apply_params(&mut run, &params)?;
    let hostfiles = read_hosts(&mut run, around)?;
    let places = Places { run: &run.hosts, hostfiles: &hostfiles, default_hostfile: run.default_hostfile.as_deref() };
    let allocation = places.allocate(&params, around)?;
    let cwd = set_submit_dir(&mut run, around);
    let daemons =
        DaemonWords { debug: run.debug_daemons, attached: run.leave_session_attached, agent: run.launch_agent.take() };
    daemons.speak(&mut params);
    Ok(Prepared {
        forwarded_env: forwarded(&around.environment, run.spec.options.fwd_environment, run.job_env),
        prted: own_prted(around),
        signals: run.forward_signals.unwrap_or_else(forwardable_signals),
        params: list(&params),
        spec: run.spec,
        allocation,
        cwd,
        warnings: run.warnings,
    })
}

/// Sets up what `prun` (or `prterun --dvm`) submits. Hosts filter the nodes of the DVM; there is no allocation to make.
///
/// # Errors
/// The first obstacle.
pub fn prepare_client(mut run: Run, around: &Surroundings) -> Result<ClientSetup, SetupError> {
    check_root(run.allow_root, around)?;
    let params = load_params(&run.params, around)?;
    apply_params(&mut run, &params)?;
    read_hosts(&mut run, around)?;
    set_submit_dir(&mut run, around);
    let job_env = std::mem::take(&mut run.job_env);
    Ok(ClientSetup {
        forwarded_env: forwarded(&around.environment, run.spec.options.fwd_environment, job_env),
        signals: run.forward_signals.clone().unwrap_or_else(forwardable_signals),
        tmpdir_base: tmpdir_base(&params)?,
        params,
        run,
    })
}

/// Sets up one job of a list, with the parameters of the command. Such a job waits for slots, reads no standard input, and is
/// one process when nothing says how many.
///
/// # Errors
/// The first obstacle.
pub fn prepare_listed(mut run: Run, params: &Params, around: &Surroundings) -> Result<Submission, SetupError> {
    apply_params(&mut run, params)?;
    read_hosts(&mut run, around)?;
    set_submit_dir(&mut run, around);
    let counted = matches!(run.spec.map.by, Some(MapBy::PerNode(_) | MapBy::PerObject(..)));
    for app in run.spec.apps.iter_mut().filter(|_| !counted) {
        app.np.get_or_insert(1);
    }
    run.spec.stdin = StdinTarget::None;
    let env = forwarded(&around.environment, run.spec.options.fwd_environment, run.job_env);
    Ok(Submission { env, wait_for_slots: true, ..Submission::of(run.spec) })
}

/// Where a command that has no job looks for DVMs.
///
/// # Errors
/// Parameters that cannot be read.
pub fn tmpdir_base_here(around: &Surroundings) -> Result<Option<String>, SetupError> {
    tmpdir_base(&load_params(&[], around)?)
}

/// Sets the DVM of `prte` up.
///
/// # Errors
/// The first obstacle.
pub fn prepare_dvm(run: &PrteRun, around: &Surroundings) -> Result<DvmSetup, SetupError> {
    check_root(run.allow_root, around)?;
    let mut params = load_params(&run.params, around)?;
    let hostfile = run.place.hostfile.as_ref().map(|name| read_hostfile(name, around)).transpose()?;
    let places = Places {
        run: std::slice::from_ref(&run.place),
        hostfiles: &[hostfile],
        default_hostfile: run.default_hostfile.as_deref(),
    };
    let allocation = places.allocate(&params, around)?;
    run.daemons.speak(&mut params);
    let parameter = params.text("ess_base_forward_signals")?.filter(|_| run.forward_signals.is_none());
    let from_parameter = parameter.map(|list| parse_signals("parameter ess_base_forward_signals", list)).transpose()?;
    Ok(DvmSetup {
        signals: run.forward_signals.clone().or(from_parameter).unwrap_or_else(forwardable_signals),
        params: list(&params),
        allocation,
        prted: own_prted(around),
        cwd: around.cwd.to_string_lossy().into_owned(),
    })
}

fn check_root(allowed: bool, around: &Surroundings) -> Result<(), SetupError> {
    match around.root && !allowed {
        true => Err(SetupError::Root),
        false => Ok(()),
    }
}

/// What parameters say of the job.
fn apply_params(run: &mut Run, params: &Params) -> Result<(), SetupError> {
    run.apply_defaults(|name| params.text(name).ok().flatten())?;
    run.spec.options.fwd_environment |= params.flag("prte_fwd_environment")?;
    Ok(())
}

fn set_submit_dir(run: &mut Run, around: &Surroundings) -> String {
    let cwd = around.cwd.to_string_lossy().into_owned();
    for app in &mut run.spec.apps {
        app.submit_dir.clone_from(&cwd);
    }
    cwd
}

fn tmpdir_base(params: &Params) -> Result<Option<String>, SetupError> {
    let text = params.text("prte_tmpdir_base")?;
    Ok(text.filter(|dir| !dir.is_empty()).map(str::to_owned))
}

fn list(params: &Params) -> Vec<(String, String)> {
    params.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
}

/// What a line says of daemons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaemonWords {
    /// `--debug-daemons`.
    pub debug: bool,
    /// `--leave-session-attached`.
    pub attached: bool,
    /// `--launch-agent`.
    pub agent: Option<String>,
}

impl DaemonWords {
    /// Daemons learn these from their parameters, wherever they were said.
    fn speak(&self, params: &mut Params) {
        let on = |yes: bool| yes.then(|| "1".to_owned());
        let spoken = [
            ("prte_debug_daemons", on(self.debug)),
            ("prte_leave_session_attached", on(self.attached)),
            ("prte_launch_agent", self.agent.clone()),
        ];
        for (name, value) in spoken {
            value.iter().for_each(|value| params.set(name, value));
        }
        // To stay attached shows only what goes wrong; what daemons do is in their log.
        if self.debug && !params.is_set("ferrite_log") {
            params.set("ferrite_log", "debug");
        }
    }
}

/// Files, then the environment, then the line; a bad value is found now and not at its first use.
fn load_params(given: &[(String, String)], around: &Surroundings) -> Result<Params, SetupError> {
    let mut params = Params::default();
    let site = around.prefix().map(|p| p.join("etc/prte-mca-params.conf"));
    let user = around.environment.get("HOME").map(|h| Path::new(h).join(".prte/mca-params.conf"));
    for path in site.into_iter().chain(user) {
        if let Some(text) = read_if_there("parameter file", &path)? {
            params.load_file(&path.to_string_lossy(), &text)?;
        }
    }
    params.load_env(around.environment.iter().map(|(n, v)| (n.as_str(), v.as_str())));
    for (name, value) in given {
        params.set(name, value);
    }
    params.check()?;
    Ok(params)
}

/// The hostfiles of the apps, whose selections are filled in.
fn read_hosts(run: &mut Run, around: &Surroundings) -> Result<Vec<Option<Hostfile>>, SetupError> {
    let mut files = Vec::new();
    for (place, app) in run.hosts.iter().zip(&mut run.spec.apps) {
        let file = place.hostfile.as_ref().map(|name| read_hostfile(name, around)).transpose()?;
        app.hosts = HostSelection {
            hostfile: file.as_ref().map(Hostfile::refs).unwrap_or_default(),
            hosts: place.hosts.as_ref().map(HostList::refs).unwrap_or_default(),
        };
        files.push(file);
    }
    Ok(files)
}

/// All that is said of hosts.
struct Places<'a> {
    run: &'a [AppPlace],
    hostfiles: &'a [Option<Hostfile>],
    default_hostfile: Option<&'a str>,
}

impl Places<'_> {
    fn allocate(&self, params: &Params, around: &Surroundings) -> Result<Allocation, SetupError> {
        let silent = self.run.iter().all(|app| app.hostfile.is_none() && app.hosts.is_none());
        let default_hosts = default_dash_host(params, silent)?;
        let apps: Vec<AppHosts<'_>> = self
            .hostfiles
            .iter()
            .zip(self.run)
            .map(|(file, place)| AppHosts {
                hostfile: file.as_ref(),
                hosts: place.hosts.as_ref().or(default_hosts.as_ref()),
            })
            .collect();
        let default_hostfile = default_hostfile(self.default_hostfile, params, around)?;
        Ok(allocate(&Sources {
            apps: &apps,
            default_hostfile: default_hostfile.as_ref(),
            this: &this_machine(silent, around),
            keep_fqdn: params.flag("prte_keep_fqdn_hostnames")?,
            required: params.flag("prte_allocation_required")?,
        })?)
    }
}

fn default_dash_host(params: &Params, silent: bool) -> Result<Option<HostList>, SetupError> {
    let list = params.text("prte_default_dash_host")?.filter(|l| silent && !l.is_empty());
    list.map(hostlist::parse).transpose().map_err(|e| SetupError::Usage(UsageError::foreign(&e, "")))
}

fn read_hostfile(name: &str, around: &Surroundings) -> Result<Hostfile, SetupError> {
    let text = read("hostfile", &around.cwd.join(name))?;
    Ok(hostfile::parse(name, &text)?)
}

/// The option, else the parameter, else the file of the installation, which need not be there.
fn default_hostfile(
    option: Option<&str>,
    params: &Params,
    around: &Surroundings,
) -> Result<Option<Hostfile>, SetupError> {
    let set = params.text("prte_default_hostfile")?.filter(|_| params.is_set("prte_default_hostfile"));
    if let Some(name) = option.or(set) {
        return match name.eq_ignore_ascii_case("none") {
            true => Ok(None),
            false => read_hostfile(name, around).map(Some),
        };
    }
    let Some(path) = around.prefix().map(|p| p.join("etc/prte-default-hostfile")) else { return Ok(None) };
    match read_if_there("default hostfile", &path)? {
        Some(text) => Ok(Some(hostfile::parse(&path.to_string_lossy(), &text)?)),
        None => Ok(None),
    }
}

/// Addresses are read only when somebody named a host by one, which is seldom.
fn this_machine(silent: bool, around: &Surroundings) -> ThisMachine {
    let mut aliases = Vec::new();
    if let Some((short, _)) = around.hostname.split_once('.') {
        aliases.push(short.to_owned());
    }
    aliases.push("localhost".to_owned());
    if !silent {
        aliases.extend(addresses());
    }
    ThisMachine { name: around.hostname.clone(), aliases }
}

/// Variables that speak to MPI libraries, or all; then what the line says for all apps.
fn forwarded(environment: &Environment, everything: bool, given: Vec<EnvOp>) -> Vec<EnvOp> {
    const LIBRARIES: [&str; 4] = ["OMPI_", "PMIX_MCA_", "MPICH_", "MPIR_"];
    // True of the shell that started us, and of nothing on another node.
    const OF_THE_SHELL: [&str; 5] = ["_", "PWD", "OLDPWD", "SHLVL", "HOSTNAME"];
    let wanted = |name: &str| {
        !is_launch_identity(name)
            && (LIBRARIES.iter().any(|p| name.starts_with(p)) || (everything && !OF_THE_SHELL.contains(&name)))
    };
    let here = environment.iter().filter(|(name, _)| wanted(name));
    here.map(|(name, value)| EnvOp::Set(name.clone(), value.clone())).chain(given).collect()
}

/// The `prted` of our own installation: another one would be refused at its first message, because both sides must be
/// the same build. The parameter `prte_launch_agent` wins over it when the daemons are started.
fn own_prted(around: &Surroundings) -> String {
    around.exe.with_file_name("prted").to_string_lossy().into_owned()
}

fn read_if_there(kind: &'static str, path: &Path) -> Result<Option<String>, SetupError> {
    match std::fs::symlink_metadata(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        _ => read(kind, path).map(Some),
    }
}

/// Larger than any list of hosts; somebody gave the wrong file.
const LIMIT: u64 = 64 << 20;

fn read(kind: &'static str, path: &Path) -> Result<String, SetupError> {
    let failed = |cause: String, next: &'static str| SetupError::File { kind, path: shown(path), cause, next };
    let check = "Check the name, and the permissions of the file and of the directories above it.";
    let reason = |e: io::Error| failed(plain(&e), check);
    // Before opening: to open a pipe would wait for a writer.
    let meta = std::fs::metadata(path).map_err(reason)?;
    if !meta.is_file() {
        let is = if meta.is_dir() { "it is a directory" } else { "it is not a regular file" };
        return Err(failed(
            is.to_owned(),
            "Give the name of a regular file; write the output of a command to one first.",
        ));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(reason)?;
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(reason)?;
    if bytes.len() as u64 > LIMIT {
        return Err(failed(
            "it is larger than 64 MB".to_owned(),
            "Check the name: this is not a text with a line per item.",
        ));
    }
    String::from_utf8(bytes).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        failed(format!("line {line} is not text (UTF-8)"), "Check the name, or write the line in plain text.")
    })
}

fn shown(path: &Path) -> String {
    PathBuf::from(path).display().to_string()
}

/// The system's words without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

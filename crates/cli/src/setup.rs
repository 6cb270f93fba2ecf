//! Makes a job that can start of a parsed line: reads parameter files and hostfiles, decides the allocation, collects
//! the forwarded environment. Each command calls it once. It starts nothing.

mod checks;
mod files;
mod grow;
mod hosts;
mod managed;
mod parameters;
mod places;

use ferrite_client::{PreloadError, Preloads};
use ferrite_driver::LIBPMIX_ENV;
use ferrite_map::topology_file::{self, TopologyFileError};
use ferrite_map::{CpuListError, restrict};
use ferrite_rm::params::Origin;
use ferrite_rm::{Allocation, AllocationError, DiscoveryError, HostfileError, ParamError, Params, PlacesError, Source};
use ferrite_types::{EnvOp, JobSpec, Signal, StdinTarget, Topology};
use ferrite_wire::GrowRequest;
use ferrite_wire::control::Submission;
pub use parameters::load_params;
pub(crate) use parameters::parameter_files;
use parameters::tmpdir_base;
use thiserror::Error;

use crate::args::prte::{DaemonWords, PrteRun};
use crate::args::{
    Picture, PlacementDefaults, PreloadAsk, ROOT_PERMISSION, Run, UsageError, announce_failures_to_ompi, counts,
    forwardable_signals, installation_of_ompi, is_launch_identity, libpmix_of_ompi, parse_signals,
};
use crate::machine::{self, Surroundings};
use files::read;
pub use grow::grow_request;
use hosts::{Places, admit_added, read_hostfile, read_hosts};
use places::read_places;

/// The parameter of `show-progress`.
const PROGRESS: &str = "state_base_show_launch_progress";

/// A job of `prterun` and its DVM, before the first daemon starts.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The job, with hosts and directories.
    pub spec: JobSpec,
    /// All parameters, in the order of their names.
    pub params: Vec<(String, String)>,
    /// The nodes.
    pub allocation: Allocation,
    /// The topology that all nodes are taken to have, when a topology file was named.
    pub topology: Option<Topology>,
    /// The daemon of our own installation, used unless the parameter `prte_launch_agent` is set.
    pub prted: String,
    /// Directory of the user.
    pub cwd: String,
    /// Pictures of the job map, and their files.
    pub pictures: Vec<Picture>,
    /// `--personality`.
    pub personality: String,
    /// Changes of the environment for every process of every app.
    pub forwarded_env: Vec<EnvOp>,
    /// Signals to pass on.
    pub signals: Vec<Signal>,
    /// Remarks.
    pub warnings: Vec<String>,
    /// The origin of the nodes, if they are displayed and a resource manager has granted them.
    pub origin: Option<String>,
}

/// Everything that a client needs before it looks for its DVM.
#[derive(Clone, Debug)]
pub struct ClientSetup {
    /// The parsed line, with its parameters applied and the hosts and lines of its files filled in.
    pub run: Run,
    /// Nodes that the DVM shall get for the job.
    pub grow: Option<Box<GrowRequest>>,
    /// Changes of the environment for every process of every app.
    pub forwarded_env: Vec<EnvOp>,
    /// Signals to pass on.
    pub signals: Vec<Signal>,
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
    /// The topology that all nodes are taken to have, when a topology file was named.
    pub topology: Option<Topology>,
    /// The daemon of our own installation.
    pub prted: String,
    /// Directory of the user.
    pub cwd: String,
    /// Signals to pass on to jobs.
    pub signals: Vec<Signal>,
    /// Remarks.
    pub warnings: Vec<String>,
}

/// Why a job cannot be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A wrong option or parameter.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// Root, without permission.
    #[error("running as root is refused, because a slip of a program can then destroy this system")]
    Root,
    /// A file that cannot be read.
    #[error("cannot read the {kind} {path}: {cause}")]
    File {
        /// The file's purpose.
        kind: &'static str,
        /// Its name.
        path: String,
        /// The system's error.
        cause: String,
        /// The next step.
        next: &'static str,
    },
    /// A hostfile that cannot be understood.
    #[error(transparent)]
    Hostfile(#[from] HostfileError),
    /// A rankfile or a sequence that cannot be understood.
    #[error(transparent)]
    Places(#[from] PlacesError),
    /// A topology file that describes no machine.
    #[error("topology file {path}, {cause}")]
    Topology {
        /// Its name.
        path: String,
        /// The flaw.
        cause: TopologyFileError,
    },
    /// A list of processors that the machine of the topology file lacks.
    #[error(transparent)]
    CpuList(#[from] CpuListError),
    /// The value of a parameter cannot be used.
    #[error("{label}: {error}")]
    Named {
        /// The parameter, with the origin of its value.
        label: String,
        /// The obstacle.
        error: Box<SetupError>,
    },
    /// A directory that a parameter names and that cannot hold session directories.
    #[error("{label}: {cause}")]
    Directory {
        /// The parameter, with the origin of its value.
        label: String,
        /// The flaw, with the name of the directory.
        cause: String,
        /// The next step.
        next: String,
    },
    /// Daemons would have to run on simulated nodes.
    #[error("the nodes of parameter ras_simulator_num_nodes do not exist, so nothing can be started on them")]
    Simulated,
    /// A parameter that cannot be used.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The nodes of a resource manager's job cannot be found.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// A file that the job cannot bring along.
    #[error("cannot copy a file to the nodes: {0}")]
    Preload(#[from] PreloadError),
    /// There are no nodes.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
}

impl SetupError {
    /// Names the parameter that asks for what cannot be used.
    fn of_parameter(self, name: &str, params: &Params) -> SetupError {
        SetupError::Named { label: params.label(name), error: Box::new(self) }
    }

    /// Returns advice for the user; empty when the message contains it.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            SetupError::Usage(error) => error.next_step(),
            SetupError::Root => "Run as an ordinary user. If root is meant, give --allow-run-as-root, or set both \
                PRTE_ALLOW_RUN_AS_ROOT=1 and PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1."
                .to_owned(),
            SetupError::Topology { .. } => "Write the file with `lstopo NAME.xml` on a machine of the kind that it is to describe, and give its name \
                with --prtemca hwloc_use_topo_file NAME.xml; nothing was started."
                .to_owned(),
            SetupError::Simulated => "See the map with prterun --rtos donotlaunch --display map, or remove the parameter.".to_owned(),
            SetupError::Discovery(error) => error.next_step(),
            SetupError::Named { error, .. } => error.next_step(),
            SetupError::Directory { next, .. } => next.clone(),
            SetupError::File { next, .. } => (*next).to_owned(),
            SetupError::Preload(error) => error.next_step().to_owned(),
            SetupError::Param(_) => {
                "`prte_info --all` lists all parameters with their values; they come from --prtemca, PRTE_MCA_* of the environment, \
                 and the parameter files (prterun --help parameters)."
                    .to_owned()
            }
            SetupError::Hostfile(_) | SetupError::Places(_) | SetupError::Allocation(_) | SetupError::CpuList(_) => String::new(),
        }
    }
}

/// Sets up the job of `prterun`.
///
/// # Errors
/// The first obstacle.
pub fn prepare(mut run: Run, around: &Surroundings) -> Result<Prepared, SetupError> {
    check_root(run.allow_root, around)?;
    let mut params = load_params(&run.params, run.said_personality(), around)?;
    run.warnings.extend(params.remarks());
    let daemons = DaemonWords {
        debug: run.debug_daemons,
        attached: run.leave_session_attached,
        agent: run.launch_agent.take(),
        params: std::mem::take(&mut run.daemon_params),
    };
    set_words(&daemons, &mut params)?;
    choose_libpmix(&mut params, around);
    run.warnings.extend(checks::networks(&params)?);
    checks::base(&params)?;
    checks::libpmix(&params)?;
    tell_origins(&mut params);
    apply_params(&mut run, &params, around)?;
    // Here the option comes from the parameter `rtos`: that of the line is set by now.
    if let Some(yes) = run.show_progress.filter(|_| !params.is_set(PROGRESS)) {
        params.set(PROGRESS, if yes { "1" } else { "0" });
    }
    let hostfiles = read_hosts(&mut run, around)?;
    let named = read_places(&mut run, around)?;
    let added = grow::added_hosts(&run.grow, &around.cwd)?;
    admit_added(&mut run, &added);
    let places = Places {
        run: &run.hosts,
        hostfiles: &hostfiles,
        places: &named,
        default_hostfile: run.default_hostfile.as_deref(),
        added: &added,
    };
    let granted = places.granted(&params, around)?;
    let allocation = places.allocate(granted.as_ref(), &params, around)?;
    if allocation.source == Source::Simulated && !run.spec.options.do_not_launch {
        return Err(SetupError::Simulated);
    }
    let topology = read_topology(&params, around)?;
    let cwd = set_submit_dir(&mut run, around);
    read_preloads(&mut run, around)?;
    Ok(Prepared {
        personality: run.personality,
        forwarded_env: forwarded(around, run.spec.options.fwd_environment, run.job_env),
        prted: own_prted(around),
        signals: run.forward_signals.unwrap_or_else(forwardable_signals),
        params: list(&params),
        pictures: run.pictures.iter().map(|picture| in_place(picture, around)).collect(),
        origin: granted.filter(|_| run.spec.display.allocation).map(|granted| managed::origin(&granted)),
        spec: run.spec,
        allocation,
        topology,
        cwd,
        warnings: run.warnings,
    })
}

/// Sets up what `prun` (or `prterun --dvm`) submits. Hosts filter the nodes of the DVM; there is no allocation to make.
/// `defaults` are the DVM's parameters for jobs, below all others.
///
/// # Errors
/// The first obstacle.
pub fn prepare_client(
    mut run: Run,
    defaults: &[(String, String)],
    around: &Surroundings,
) -> Result<ClientSetup, SetupError> {
    check_root(run.allow_root, around)?;
    let mut params = load_params(&run.params, run.said_personality(), around)?;
    defaults.iter().for_each(|(name, value)| params.set_default(name, value));
    run.warnings.extend(params.remarks());
    apply_params(&mut run, &params, around)?;
    read_hosts(&mut run, around)?;
    read_places(&mut run, around)?;
    run.pictures = run.pictures.iter().map(|picture| in_place(picture, around)).collect();
    let grow = grow_request(&run.grow, &around.cwd)?.map(Box::new);
    set_submit_dir(&mut run, around);
    read_preloads(&mut run, around)?;
    let job_env = std::mem::take(&mut run.job_env);
    Ok(ClientSetup {
        grow,
        forwarded_env: forwarded(around, run.spec.options.fwd_environment, job_env),
        signals: run.forward_signals.clone().unwrap_or_else(forwardable_signals),
        tmpdir_base: tmpdir_base(&params)?,
        params,
        run,
    })
}

/// Sets up one job of a list, with the parameters of the command. Such a job waits for slots, reads no standard input,
/// and has one process unless its line says how many.
///
/// # Errors
/// The first obstacle.
pub fn prepare_listed(mut run: Run, params: &Params, around: &Surroundings) -> Result<Submission, SetupError> {
    apply_params(&mut run, params, around)?;
    if !run.pictures.is_empty() {
        return Err(SetupError::Usage(UsageError::Conflict {
            what: "--display: a job of a list has no pictures".to_owned(),
            next: "Remove svg and html, or run the job alone with prun.".to_owned(),
        }));
    }
    if run.spec.display.processes.is_some() {
        return Err(SetupError::Usage(UsageError::Conflict {
            what: "--runtime-options output-proctable: a job of a list has no table of processes".to_owned(),
            next: "Remove it, or run the job alone with prun.".to_owned(),
        }));
    }
    if run.preloads.iter().any(|asked| *asked != PreloadAsk::default()) {
        return Err(SetupError::Usage(UsageError::Conflict {
            what: "a job of a list brings no files along".to_owned(),
            next: "Remove --preload-binary and --preload-files, or run the job alone with prun.".to_owned(),
        }));
    }
    if run.spec.stdin.is_some_and(|readers| readers != StdinTarget::None) {
        return Err(SetupError::Usage(UsageError::Conflict {
            what: "--stdin: a job of a list reads no standard input".to_owned(),
            next: "Remove it, have the program read a file, or run the job alone with prun.".to_owned(),
        }));
    }
    read_hosts(&mut run, around)?;
    read_places(&mut run, around)?;
    let grow = grow_request(&run.grow, &around.cwd)?.map(Box::new);
    set_submit_dir(&mut run, around);
    for app in &mut run.spec.apps {
        if !counts(app.map.as_ref().unwrap_or(&run.spec.map).by.as_ref()) {
            app.np.get_or_insert(1);
        }
    }
    run.spec.stdin = Some(StdinTarget::None);
    let env = forwarded(around, run.spec.options.fwd_environment, run.job_env);
    Ok(Submission {
        env,
        wait_for_slots: true,
        priority: run.priority.unwrap_or(0),
        after: run.after,
        grow,
        session: run.session,
        personality: run.personality,
        launcher: machine::launcher("prun"),
        ..Submission::of(run.spec)
    })
}

/// Returns the base directory in which a command without a job looks for DVMs.
///
/// # Errors
/// Parameters that cannot be read.
pub fn tmpdir_base_here(around: &Surroundings) -> Result<Option<String>, SetupError> {
    tmpdir_base(&load_params(&[], None, around)?)
}

/// Sets up the DVM of `prte`.
///
/// # Errors
/// The first obstacle.
pub fn prepare_dvm(run: &PrteRun, around: &Surroundings) -> Result<DvmSetup, SetupError> {
    check_root(run.allow_root, around)?;
    let mut params = load_params(&run.params, None, around)?;
    let mut warnings = params.remarks();
    set_words(&run.daemons, &mut params)?;
    warnings.extend(checks::networks(&params)?);
    checks::base(&params)?;
    checks::libpmix(&params)?;
    tell_origins(&mut params);
    PlacementDefaults::of(&params)?.check_for_dvm()?;
    let hostfile = run.place.hostfile.as_ref().map(|name| read_hostfile(name, around)).transpose()?;
    let places = Places {
        run: std::slice::from_ref(&run.place),
        hostfiles: &[hostfile],
        places: &[],
        default_hostfile: run.default_hostfile.as_deref(),
        added: &[],
    };
    let granted = places.granted(&params, around)?;
    let allocation = places.allocate(granted.as_ref(), &params, around)?;
    if allocation.source == Source::Simulated {
        return Err(SetupError::Simulated);
    }
    let topology = read_topology(&params, around)?;
    let parameter = params.text("ess_base_forward_signals")?.filter(|_| run.forward_signals.is_none());
    let from_parameter =
        parameter.map(|list| parse_signals(&params.label("ess_base_forward_signals"), list)).transpose()?;
    Ok(DvmSetup {
        signals: run.forward_signals.clone().or(from_parameter).unwrap_or_else(forwardable_signals),
        params: list(&params),
        allocation,
        topology,
        prted: own_prted(around),
        warnings,
        cwd: around.cwd.to_string_lossy().into_owned(),
    })
}

/// Reads the topology file that parameter `hwloc_use_topo_file` names.
fn read_topology(params: &Params, around: &Surroundings) -> Result<Option<Topology>, SetupError> {
    let Some(name) = params.text("hwloc_use_topo_file")?.filter(|name| !name.is_empty()) else { return Ok(None) };
    let path = around.cwd.join(name);
    let of_file = |error: SetupError| error.of_parameter("hwloc_use_topo_file", params);
    let text = read("topology file", &path).map_err(of_file)?;
    let failed = |cause| SetupError::Topology { path: path.display().to_string(), cause };
    let mut topology = topology_file::parse(&text).map_err(|cause| of_file(failed(cause)))?;
    let list = params.text("hwloc_default_cpu_list")?.unwrap_or_default();
    restrict(&mut topology, list, params.flag("hwloc_base_use_hwthreads_as_cpus")?)
        .map_err(|error| SetupError::from(error).of_parameter("hwloc_default_cpu_list", params))?;
    Ok(Some(topology))
}

fn check_root(allowed: bool, around: &Surroundings) -> Result<(), SetupError> {
    match around.root && !allowed {
        true => Err(SetupError::Root),
        false => Ok(()),
    }
}

/// Applies the parameters of the job.
fn apply_params(run: &mut Run, params: &Params, around: &Surroundings) -> Result<(), SetupError> {
    run.apply_defaults(params)?;
    announce_failures_to_ompi(&mut run.spec.options, &mut run.job_env, &around.environment);
    run.spec.options.fwd_environment |= params.flag("prte_fwd_environment")?;
    let told = params.number("rmaps_base_verbose")?;
    run.spec.display.map |= told >= 1;
    run.spec.display.map_devel |= told >= 5;
    Ok(())
}

fn in_place((format, file): &Picture, around: &Surroundings) -> Picture {
    (*format, around.cwd.join(file))
}

fn set_submit_dir(run: &mut Run, around: &Surroundings) -> String {
    let cwd = around.cwd.to_string_lossy().into_owned();
    for app in &mut run.spec.apps {
        app.submit_dir.clone_from(&cwd);
    }
    cwd
}

/// Finds the files that the job brings along. A program among them is started by its place on the nodes.
fn read_preloads(run: &mut Run, around: &Surroundings) -> Result<(), SetupError> {
    let mut preloads = Preloads::default();
    let search = around.environment.get("PATH").map_or("", String::as_str);
    for (app, asked) in run.spec.apps.iter_mut().zip(&run.preloads) {
        if asked.binary {
            let search = app.path.as_deref().unwrap_or(search);
            app.argv[0] = preloads.add_program(&app.argv[0], &around.cwd, search)?;
        }
        asked.files.iter().try_for_each(|list| preloads.add_list(list, &around.cwd))?;
    }
    run.spec.preload = preloads.into_entries();
    Ok(())
}

/// Tells daemons where the parameters come from of which their messages can be.
fn tell_origins(params: &mut Params) {
    const REPORTED: [&str; 7] = [
        "odls_base_exec_agent",
        "prte_if_exclude",
        "prte_if_include",
        "prte_local_tmpdir_base",
        "prte_remote_tmpdir_base",
        "prte_set_max_sys_limits",
        "prte_tmpdir_base",
    ];
    let told = REPORTED.iter().filter_map(|name| Some((name, &params.setting(name)?.origin)));
    let told: Vec<String> = told
        .filter(|(_, origin)| **origin != Origin::Runtime)
        .map(|(name, origin)| format!("{name}={origin}"))
        .collect();
    if !told.is_empty() {
        params.set("ferrite_origins", &told.join("\n"));
    }
}

fn list(params: &Params) -> Vec<(String, String)> {
    params.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
}

/// Sets the options about daemons as parameters, from which daemons learn them.
fn set_words(words: &DaemonWords, params: &mut Params) -> Result<(), SetupError> {
    let on = |yes: bool| yes.then(|| "1".to_owned());
    let spoken = [
        ("prte_debug_daemons", on(words.debug)),
        ("prte_leave_session_attached", on(words.attached)),
        ("prte_launch_agent", words.agent.clone()),
    ];
    for (name, value) in &words.params {
        params.set(name, value);
    }
    for (name, value) in spoken {
        value.iter().for_each(|value| params.set(name, value));
    }
    if params.is_set("ferrite_prefix") && params.is_set("prte_launch_agent") {
        return Err(SetupError::Usage(UsageError::Conflict {
            what:
                "ferrite_prefix (--prefix) and prte_launch_agent (--launch-agent) both name the program of the daemons"
                    .to_owned(),
            next: "Keep one of them; a launch agent may name its prted with the whole path.".to_owned(),
        }));
    }
    // `--debug-daemons` also raises the level of the daemons' log.
    if words.debug && !params.is_set("ferrite_log") {
        params.set("ferrite_log", "debug");
    }
    Ok(())
}

/// Returns the environment for all apps: variables of MPI libraries, or all variables; root's permission, so that a
/// process may call our commands; the place of the Open MPI that runs us; then the changes that the line asks for.
fn forwarded(around: &Surroundings, everything: bool, given: Vec<EnvOp>) -> Vec<EnvOp> {
    const LIBRARIES: [&str; 4] = ["OMPI_", "PMIX_MCA_", "MPICH_", "MPIR_"];
    // Variables of the shell that has started us; they mean nothing on another node.
    const OF_THE_SHELL: [&str; 5] = ["_", "PWD", "OLDPWD", "SHLVL", "HOSTNAME"];
    let wanted = |name: &str| {
        !is_launch_identity(name)
            && (LIBRARIES.iter().any(|p| name.starts_with(p)) || (everything && !OF_THE_SHELL.contains(&name)))
    };
    let here = around.environment.iter().filter(|(name, _)| wanted(name));
    let here = here.map(|(name, value)| EnvOp::Set(name.clone(), value.clone()));
    // Root has given the permission; otherwise the command would have been refused.
    let permission = ROOT_PERMISSION.iter().filter(|_| around.root);
    let permission = permission.map(|name| EnvOp::Set((*name).to_owned(), "1".to_owned()));
    here.chain(permission).chain(installation_of_ompi(&around.environment)).chain(given).collect()
}

/// Has the daemons load the libpmix of the Open MPI whose `mpirun` runs us, unless the user names another (spec L132).
fn choose_libpmix(params: &mut Params, around: &Surroundings) {
    let named = around.environment.get(LIBPMIX_ENV).is_some_and(|file| !file.is_empty());
    if let Some(file) = libpmix_of_ompi(&around.environment).filter(|_| !named && !params.is_set("ferrite_libpmix")) {
        params.set("ferrite_libpmix", &file.to_string_lossy());
    }
}

/// Returns the `prted` of our own installation. Another build would be refused at its first message. The parameter
/// `prte_launch_agent` overrides it when daemons are started.
fn own_prted(around: &Surroundings) -> String {
    around.exe.with_file_name("prted").to_string_lossy().into_owned()
}

//! Makes one job of the options of all applications. The structures of options are taken apart field by field, so that
//! an option that nobody uses does not compile.

use clap::ArgMatches;
use ferrite_rm::hostlist;
use ferrite_types::{AppContext, EnvOp, JobSpec, SessionId, Signal, StdinTarget, StopPoint};
use ferrite_wire::bad_set_name;
use ferrite_wire::control::{Dependency, SessionChoice};

use super::env::root_by_environment;

use super::ask::Asked;
use super::connect::{self, ConnectAsk};
use super::daemons::{Loudness, Spoken};
use super::display::DisplayAsk;
use super::env::{self, EnvArg, Environment};
use super::error::UsageError;
use super::grow::GrowAsk;
use super::io::{self, OutputAsk};
use super::options::{
    AppOptions, BatchOptions, ControlOptions, EnvOptions, GrowOptions, IoOptions, PlacementOptions, PrivateDvm,
    RuntimeArgs, SessionOptions, SubmitOptions,
};
use super::placement::{self, Placement, Said};
use super::prefixes::Prefixes;
use super::rtos::{RuntimeAsk, grace_time, restarts, size_range, time};
use super::tool::{JobOptions, Tool};
use super::{App, AppPlace, BatchRun, Connect, MapFiles, PreloadAsk, ReportTo, Run, signals};

/// Options that the line leaves open; parameters give their defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unsaid {
    pub(super) output: bool,
    pub(super) display: bool,
    pub(super) rtos: RuntimeAsk,
    pub(super) personality: Option<String>,
    /// Remarks about deprecated options; under Open MPI's personality they are not printed.
    pub(super) deprecations: Vec<String>,
}

/// The job as it grows from application to application.
#[derive(Default)]
struct Job {
    apps: Vec<AppContext>,
    hosts: Vec<AppPlace>,
    preloads: Vec<PreloadAsk>,
    grow: GrowAsk,
    placement: Vec<Said>,
    output: OutputAsk,
    display: DisplayAsk,
    rtos: RuntimeAsk,
    stdin: Asked<StdinTarget>,
    default_hostfile: Asked<String>,
    signals: Asked<Vec<Signal>>,
    agent: Asked<String>,
    daemons: Spoken,
    report_pid: Asked<ReportTo>,
    personality: Asked<String>,
    params: Vec<(String, String)>,
    job_env: Vec<EnvOp>,
    allow_root: bool,
    attached: bool,
    debug: bool,
    verbose: bool,
    quiet: bool,
    connect: ConnectAsk,
    detach: bool,
    wait_for_slots: bool,
    priority: Asked<i16>,
    after: Vec<Dependency>,
    session: Asked<SessionChoice>,
    batch: Option<BatchRun>,
    warnings: Vec<String>,
    deprecations: Vec<String>,
}

/// Puts the applications together.
pub(crate) fn run(tool: Tool, apps: Vec<App>, environment: &Environment) -> Result<Run, UsageError> {
    let mut job = Job::default();
    for app in apps {
        job.add(app, environment)?;
    }
    if let Some(limit) = environment.get("MPIEXEC_TIMEOUT").filter(|_| job.rtos.timeout.0.is_none()) {
        job.rtos.timeout = Asked(Some(time("MPIEXEC_TIMEOUT (environment)", limit)?));
    }
    job.allow_root |= root_by_environment(environment);
    let connect = std::mem::take(&mut job.connect).finish(tool, environment)?;
    match (tool, &connect) {
        (Tool::Prterun, Some(_)) => job.check_proxy()?,
        (Tool::Prterun, None) => job.check_private()?,
        (Tool::Prun, _) if job.rtos.show_progress.0 == Some(true) => {
            return Err(UsageError::Conflict {
                what: "--runtime-options show-progress: prun starts no daemons".to_owned(),
                next: "Give --show-progress to prte; `pdvm status` shows a DVM that is running.".to_owned(),
            });
        }
        _ => {}
    }
    job.finish(connect)
}

impl Job {
    fn add(&mut self, app: App, environment: &Environment) -> Result<(), UsageError> {
        let App { options, matches, argv, rewritten } = app;
        self.note_rewritten(rewritten);
        let JobOptions {
            app,
            placement,
            grow,
            env,
            io,
            control,
            runtime,
            private,
            dvm,
            connection,
            submit,
            session,
            batch,
        } = options;
        self.submit_of(submit)?;
        self.connect.add(dvm, connection)?;
        self.runtime_of(runtime)?;
        self.private_of(private)?;
        if batch.batch.is_some() {
            let after = std::mem::take(&mut self.after);
            check_batch(&OfOneJob { app, placement, grow, env, io, session, after })?;
            self.control_of(control)?;
            return self.batch_of(batch);
        }
        self.batch_of(batch)?;
        let AppOptions {
            np,
            per_node,
            wdir,
            set_cwd_to_session_dir,
            preload_binary,
            preload_files,
            path,
            app: file,
            exec_agent,
            app_prefix,
            app_pmix_prefix,
            no_app_prefix,
            pset,
        } = app;
        let prefixes = Prefixes::of(app_prefix, app_pmix_prefix, no_app_prefix, environment)?;
        if set_cwd_to_session_dir && wdir.is_some() {
            return Err(UsageError::Conflict {
                what: "--wdir and --set-cwd-to-session-dir are both given".to_owned(),
                next: "Keep one of them: they name different directories for the same processes.".to_owned(),
            });
        }
        let preload = PreloadAsk { binary: preload_binary, files: preload_files };
        if let Some(option) = preload.option().filter(|_| wdir.is_some()) {
            return Err(UsageError::Conflict {
                what: format!("--wdir and {option} are both given"),
                next: "Remove --wdir: the processes start in directories of their own, where the files are.".to_owned(),
            });
        }
        not_included("--app", file.as_deref())?;
        let takes = placement::takes(placement.mem.as_deref(), &placement.resource)?;
        self.placement_of(placement, per_node)?;
        self.grow_of(grow)?;
        self.session_of(session)?;
        // Options about single variables come last, so that they win over the directories.
        let env = prefixes.env().into_iter().chain(self.env_of(&env, &matches, environment)?).collect();
        self.io_of(io)?;
        self.control_of(control)?;
        self.apps.push(AppContext {
            argv,
            np: np.as_deref().map(|n| placement::count("-n", n)).transpose()?,
            wdir: wdir.map(|d| not_empty("--wdir", d)).transpose()?,
            path: path.map(|d| not_empty("--path", d)).transpose()?,
            env,
            exec_agent: exec_agent.map(|agent| words_of("--exec-agent", &agent)).transpose()?,
            session_cwd: set_cwd_to_session_dir || preload.option().is_some(),
            takes: takes.each,
            takes_once: takes.once,
            set: pset.map(|name| self.set_name(name)).transpose()?,
            ..AppContext::default()
        });
        self.preloads.push(preload);
        Ok(())
    }

    fn set_name(&self, name: String) -> Result<String, UsageError> {
        let next = "Give a name without spaces and commas, unique in the DVM.";
        if let Some(why) = bad_set_name(&name) {
            return Err(UsageError::value("--pset", format!("{name:?}: {why}"), next));
        }
        if self.apps.iter().any(|app| app.set.as_ref() == Some(&name)) {
            return Err(UsageError::value("--pset", format!("two programs of the job have the set {name:?}"), next));
        }
        Ok(name)
    }

    fn note_rewritten(&mut self, rewritten: Vec<(String, String)>) {
        for (old, new) in rewritten {
            match new.as_str() {
                // Nobody may believe that it does something, whatever the personality is.
                "" => self.warnings.push(format!("{old} has no effect; remove it.")),
                new => self.deprecations.push(format!("{old} is deprecated; use {new} instead.")),
            }
        }
    }

    fn placement_of(&mut self, options: PlacementOptions, per_node: Option<String>) -> Result<(), UsageError> {
        let PlacementOptions { host, hostfile, map_by, rank_by, bind_to, mem: _, resource: _ } = options;
        let list = Some(host.join(",")).filter(|_| !host.is_empty());
        let refused = |e| UsageError::foreign(&e, "");
        let hosts = list.as_deref().map(hostlist::parse).transpose().map_err(refused)?;
        let namings = list.as_deref().map(hostlist::parse_namings).transpose().map_err(refused)?.unwrap_or_default();
        let hostfile = hostfile.map(|f| not_empty("--hostfile", f)).transpose()?;
        self.hosts.push(AppPlace { hostfile, hosts, namings });
        self.placement.push(Said::of(&map_by, &rank_by, &bind_to, per_node.as_deref())?);
        Ok(())
    }

    fn grow_of(&mut self, options: GrowOptions) -> Result<(), UsageError> {
        let GrowOptions { add_host, add_hostfile, activate } = options;
        self.grow.add_hosts("--add-host", &add_host)?;
        self.grow.add_hostfile("--add-hostfile", add_hostfile)?;
        self.grow.add_activate(&activate)
    }

    fn session_of(&mut self, options: SessionOptions) -> Result<(), UsageError> {
        let SessionOptions { alloc_id, alloc_refid, session_id } = options;
        let number = |text: String| {
            let next = "Give the number of a session, as 3; an allocation is named by --alloc-id.";
            let wrong = || UsageError::value("--session-id", format!("{text:?} is not a number"), next);
            let digits = Some(&text).filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
            digits.and_then(|t| t.parse().ok()).map(SessionId).ok_or_else(wrong)
        };
        let said = [
            ("--alloc-id", alloc_id.map(|id| not_empty("--alloc-id", id).map(|id| SessionChoice::Alloc(id.into())))),
            (
                "--alloc-refid",
                alloc_refid.map(|name| not_empty("--alloc-refid", name).map(|name| SessionChoice::Ref(name.into()))),
            ),
            ("--session-id", session_id.map(|text| number(text).map(SessionChoice::Id))),
        ];
        for (option, choice) in said {
            let Some(choice) = choice.transpose()? else { continue };
            if self.session.0.as_ref().is_some_and(|other| *other != choice) {
                return Err(UsageError::Conflict {
                    what: format!("{option}: another option names another allocation"),
                    next: "A job runs in one: keep one of --alloc-id, --alloc-refid and --session-id.".to_owned(),
                });
            }
            self.session = Asked(Some(choice));
        }
        Ok(())
    }

    fn env_of(
        &mut self,
        options: &EnvOptions,
        matches: &ArgMatches,
        environment: &Environment,
    ) -> Result<Vec<EnvOp>, UsageError> {
        let EnvOptions { x, set_env, unset_env, append_env, prepend_env, mca, gmca, pmixmca, tune } = options;
        not_included("--tune", tune.first().map(String::as_str))?;
        for [key, value] in pairs(gmca) {
            self.job_env.push(env::parameter("--gmca", "OMPI_MCA_", key, value)?);
        }
        for [key, value] in pairs(pmixmca) {
            self.job_env.push(env::parameter("--pmixmca", "PMIX_MCA_", key, value)?);
        }
        let mut changes = Vec::new();
        for [key, value] in pairs(mca) {
            self.warnings.extend(env::runtime_parameter(key));
            changes.push(env::parameter("--mca", "OMPI_MCA_", key, value)?);
        }
        let mut args: Vec<(usize, EnvArg<'_>)> = Vec::new();
        args.extend(at(matches, "x", 1).zip(x.iter().map(|t| EnvArg::Forward(t))));
        args.extend(at(matches, "set_env", 1).zip(set_env.iter().map(|t| EnvArg::Set(t))));
        args.extend(at(matches, "unset_env", 1).zip(unset_env.iter().map(|t| EnvArg::Unset(t))));
        args.extend(at(matches, "append_env", 2).zip(pairs(append_env).map(|[n, v]| EnvArg::Append(n, v))));
        args.extend(at(matches, "prepend_env", 2).zip(pairs(prepend_env).map(|[n, v]| EnvArg::Prepend(n, v))));
        args.sort_by_key(|(index, _)| *index);
        for (_, arg) in &args {
            changes.extend(env::changes(arg, environment, &mut self.warnings)?);
        }
        Ok(changes)
    }

    fn io_of(&mut self, options: IoOptions) -> Result<(), UsageError> {
        let IoOptions { stdin, output, display } = options;
        if let Some(text) = stdin {
            self.stdin.say("--stdin", "the reader", io::stdin(&text)?)?;
        }
        output.iter().try_for_each(|list| self.output.add("--output", list))?;
        display.iter().try_for_each(|list| self.display.add("--display", list))
    }

    fn control_of(&mut self, options: ControlOptions) -> Result<(), UsageError> {
        let ControlOptions {
            timeout,
            spawn_timeout,
            report_state_on_timeout,
            get_stack_traces,
            stop_on_exec,
            stop_in_init,
            stop_in_app,
            enable_recovery,
            continuous,
            max_restarts,
            grace,
            grace_signal,
            elastic,
            runtime_options,
            forward_signals,
            allow_run_as_root,
        } = options;
        let rtos = &mut self.rtos;
        runtime_options.iter().try_for_each(|list| rtos.add("--runtime-options", list))?;
        if let Some(text) = timeout {
            rtos.timeout.say("--timeout", "the limit", time("--timeout", &text)?)?;
        }
        if let Some(text) = spawn_timeout {
            rtos.spawn_timeout.say("--spawn-timeout", "the limit", time("--spawn-timeout", &text)?)?;
        }
        let flags =
            [("--stop-on-exec", stop_on_exec, StopPoint::Exec), ("--stop-in-init", stop_in_init, StopPoint::Init)];
        for (option, _, at) in flags.into_iter().filter(|(_, is_given, _)| *is_given) {
            rtos.stop_at(option, option, at, None)?;
        }
        if let Some(name) = stop_in_app {
            rtos.stop_at("--stop-in-app", "--stop-in-app", StopPoint::App, Some(&name))?;
        }
        if get_stack_traces {
            rtos.stack_traces.say("--get-stack-traces", "the stacks", true)?;
        }
        if report_state_on_timeout {
            rtos.report_state.say("--report-state-on-timeout", "the report", true)?;
        }
        if enable_recovery {
            rtos.recoverable.say("--enable-recovery", "recoverable", true)?;
        }
        if continuous {
            rtos.continuous.say("--continuous", "continuous", true)?;
        }
        if let Some(text) = max_restarts {
            rtos.max_restarts.say("--max-restarts", "max-restarts", restarts("--max-restarts", &text)?)?;
        }
        if let Some(text) = &grace {
            rtos.grace.say("--grace", "the time", grace_time("--grace", text)?)?;
        }
        if let Some(name) = &grace_signal {
            rtos.grace_signal.say("--grace-signal", "the signal", signals::one("--grace-signal", name)?)?;
        }
        if let Some(text) = &elastic {
            rtos.elastic.say("--elastic", "the range", size_range("--elastic", text)?)?;
        }
        if rtos.grace_signal.0.is_some() && rtos.grace.0.is_none() && rtos.elastic.0.is_none() {
            return Err(UsageError::Conflict {
                what: "--grace-signal without a time: the signal goes with the notice that --grace asks for".to_owned(),
                next: "Add --grace TIME, as in --grace 30 --grace-signal USR1.".to_owned(),
            });
        }
        if let Some(list) = forward_signals {
            let option = "--forward-signals";
            self.signals.say(option, "the list", signals::parse(option, &list)?)?;
        }
        self.allow_root |= allow_run_as_root;
        Ok(())
    }

    fn runtime_of(&mut self, options: RuntimeArgs) -> Result<(), UsageError> {
        let RuntimeArgs { prtemca, report_pid, verbose, quiet, personality } = options;
        self.verbose |= verbose;
        self.quiet |= quiet;
        for [key, value] in pairs(&prtemca) {
            self.params.push((not_empty("--prtemca", key.clone())?, value.clone()));
        }
        if let Some(to) = report_pid {
            self.report_pid.say("--report-pid", "the place", report_to("--report-pid", to)?)?;
        }
        if let Some(name) = personality {
            self.personality.say("--personality", "the name", known_personality("--personality", &name)?)?;
        }
        Ok(())
    }

    fn private_of(&mut self, options: PrivateDvm) -> Result<(), UsageError> {
        let PrivateDvm {
            default_hostfile,
            launch_agent,
            prefix,
            noprefix,
            pmix_prefix,
            max_vm_size,
            leave_session_attached,
            debug_daemons,
            // Only a DVM that outlives its jobs says that it is ready, so there is nothing to suppress.
            no_ready_msg: _,
        } = options;
        if let Some(file) = default_hostfile {
            if file.contains(',') {
                return Err(UsageError::value(
                    "--default-hostfile",
                    format!("{file:?} names several files"),
                    "Give one file; it may list all hosts.",
                ));
            }
            self.default_hostfile.say("--default-hostfile", "the file", not_empty("--default-hostfile", file)?)?;
        }
        if let Some(agent) = launch_agent {
            self.agent.say("--launch-agent", "the command", not_empty("--launch-agent", agent)?)?;
        }
        let spoken = &mut self.daemons;
        spoken.noprefix |= noprefix;
        let texts = [
            ("--prefix", prefix, &mut spoken.prefix),
            ("--pmix-prefix", pmix_prefix, &mut spoken.pmix_prefix),
            ("--max-vm-size", max_vm_size, &mut spoken.max_vm_size),
        ];
        for (option, text, kept) in texts {
            let mut asked = Asked(kept.take());
            text.map_or(Ok(()), |text| asked.say(option, "the value", text))?;
            *kept = asked.0;
        }
        self.attached |= leave_session_attached;
        self.debug |= debug_daemons;
        Ok(())
    }

    fn submit_of(&mut self, options: SubmitOptions) -> Result<(), UsageError> {
        let SubmitOptions { detach, wait_for_slots, priority, after, after_any } = options;
        self.detach |= detach;
        for (option, lists, well) in [("--after", after, true), ("--after-any", after_any, false)] {
            for list in lists {
                self.after.extend(connect::dependencies(option, &list, well)?);
            }
        }
        self.wait_for_slots |= wait_for_slots || priority.is_some() || !self.after.is_empty();
        if let Some(text) = priority {
            self.priority.say("--priority", "the number", connect::priority(&text)?)?;
        }
        Ok(())
    }

    fn batch_of(&mut self, options: BatchOptions) -> Result<(), UsageError> {
        self.batch = connect::batch(options)?.map(|batch| BatchRun { priority: self.priority.0.unwrap_or(0), ..batch });
        Ok(())
    }

    /// Refuses options about the private DVM of `prterun` when the job goes to a DVM that is running.
    fn check_proxy(&self) -> Result<(), UsageError> {
        let said = [
            ("--launch-agent", self.agent.0.is_some()),
            ("--prefix", self.daemons.prefix.is_some()),
            ("--noprefix", self.daemons.noprefix),
            ("--pmix-prefix", self.daemons.pmix_prefix.is_some()),
            ("--max-vm-size", self.daemons.max_vm_size.is_some()),
            ("--runtime-options show-progress", self.rtos.show_progress.0 == Some(true)),
            ("--leave-session-attached", self.attached),
            ("--debug-daemons", self.debug),
            ("--default-hostfile", self.default_hostfile.0.is_some()),
        ];
        match said.iter().find(|(_, said)| *said) {
            None => Ok(()),
            Some((option, _)) => Err(UsageError::Conflict {
                what: format!(
                    "{option} shapes a DVM that is started, and --dvm (or PRTEPROXY_USE_DVM) names one that is running"
                ),
                next: "Keep one of them, or give the option to prte when it starts the DVM.".to_owned(),
            }),
        }
    }

    /// Refuses options that need a DVM that is running: the private one has no sessions, and a daemon on each of its
    /// nodes.
    fn check_private(&self) -> Result<(), UsageError> {
        let dvm = "use --dvm to run in one that is running, or prun";
        let (option, why) = match (&self.session.0, self.grow.activate.is_empty()) {
            (None, true) => return Ok(()),
            (None, false) => ("--activate", "starts daemons where a DVM has none, and prterun starts one on each node"),
            (Some(SessionChoice::Id(_)), _) => ("--session-id", "names a session of a DVM that is running"),
            (Some(SessionChoice::Ref(_)), _) => ("--alloc-refid", "names an allocation of a DVM that is running"),
            (Some(_), _) => ("--alloc-id", "names an allocation of a DVM that is running"),
        };
        let next = format!("Remove it: prterun has a DVM of its own; {dvm}.");
        Err(UsageError::Conflict { what: format!("{option} {why}"), next })
    }

    fn finish(mut self, connect: Option<Connect>) -> Result<Run, UsageError> {
        let loudness = Loudness { verbose: self.verbose, quiet: self.quiet, progress: self.rtos.show_progress.0 };
        if connect.is_none() {
            self.params.splice(0..0, loudness.params());
        }
        loudness.check()?;
        let unsaid = Unsaid {
            output: !self.output.said,
            display: !self.display.said,
            rtos: self.rtos.clone(),
            personality: self.personality.0,
            deprecations: self.deprecations,
        };
        let Placement { job, apps, report, map } = placement::of_job(&self.placement)?;
        let mut map_files = MapFiles { job: job.file, apps: Vec::new() };
        for (app, own) in self.apps.iter_mut().zip(apps) {
            let own = own.map(|own| (own.request, own.file));
            let (request, file) = own.unzip();
            app.map = request;
            map_files.apps.push(file.flatten());
        }
        let (mut display, pictures) = self.display.finish();
        if !report.is_empty() && report.len() == self.apps.len() {
            display.bind = true;
        } else {
            display.bind_of = report;
        }
        display.map |= map;
        let spec = JobSpec {
            map: job.request,
            stdin: self.stdin.0,
            output: self.output.finish("--output")?,
            display,
            stop: self.rtos.stop.0.clone().flatten(),
            options: self.rtos.finish(),
            apps: self.apps,
            beside: None,
            pmi1: None,
            preload: Vec::new(),
        };
        if let Some(option) = self.preloads.iter().find_map(PreloadAsk::option).filter(|_| self.detach) {
            return Err(UsageError::Conflict {
                what: format!("--detach and {option} are both given"),
                next: "Remove --detach, and put `&` behind the command: it reads the files for the DVM.".to_owned(),
            });
        }
        Ok(Run {
            personality: String::new(),
            spec,
            hosts: self.hosts,
            preloads: self.preloads,
            map_files,
            pictures,
            grow: self.grow,
            default_hostfile: self.default_hostfile.0,
            params: self.params,
            job_env: self.job_env,
            allow_root: self.allow_root,
            forward_signals: self.signals.0,
            launch_agent: self.agent.0,
            daemon_params: self.daemons.into_params()?,
            leave_session_attached: self.attached,
            debug_daemons: self.debug,
            verbose: self.verbose,
            quiet: self.quiet,
            show_progress: loudness.progress,
            report_pid: self.report_pid.0,
            connect,
            detach: self.detach,
            wait_for_slots: self.wait_for_slots,
            priority: self.priority.0,
            after: self.after,
            session: self.session.0.unwrap_or_default(),
            batch: self.batch,
            warnings: self.warnings,
            unsaid,
        })
    }
}

/// Returns the positions of an option on the line; with several values, the position of the first.
fn at<'m>(matches: &'m ArgMatches, id: &str, values: usize) -> impl Iterator<Item = usize> + 'm {
    matches.indices_of(id).into_iter().flatten().step_by(values)
}

fn pairs(values: &[String]) -> impl Iterator<Item = &[String; 2]> {
    values.as_chunks::<2>().0.iter()
}

/// Refuses an option whose file was not read: that of a line in a list of jobs.
fn not_included(option: &str, file: Option<&str>) -> Result<(), UsageError> {
    let next = "Write what the file says into the line.";
    file.map_or(Ok(()), |file| {
        Err(UsageError::value(option, format!("{file:?}: a line of a list names no such file"), next))
    })
}

pub(super) fn not_empty(option: &str, value: String) -> Result<String, UsageError> {
    match value.is_empty() {
        true => Err(UsageError::value(option, "the value is empty", "Give a value, or remove the option.")),
        false => Ok(value),
    }
}

fn words_of(option: &str, text: &str) -> Result<Vec<String>, UsageError> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    match words.is_empty() {
        true => Err(UsageError::value(option, "the value is empty", "Give a command, or remove the option.")),
        false => Ok(words),
    }
}

/// Parses the target of `--report-pid` and `--report-uri`.
pub(crate) fn report_to(option: &str, text: String) -> Result<ReportTo, UsageError> {
    Ok(match text.as_str() {
        "-" => ReportTo::Stdout,
        "+" => ReportTo::Stderr,
        // A number means an open descriptor elsewhere; here it would silently become a file of that name.
        digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            return Err(UsageError::Unbuilt {
                option: format!("{option} to a file descriptor"),
                instead: "Give `-`, `+`, or the name of a file.",
            });
        }
        _ => ReportTo::File(not_empty(option, text)?),
    })
}

/// Options of one job, which a line of a list can have.
#[derive(Default, PartialEq, Eq)]
struct OfOneJob {
    app: AppOptions,
    placement: PlacementOptions,
    grow: GrowOptions,
    env: EnvOptions,
    io: IoOptions,
    session: SessionOptions,
    after: Vec<Dependency>,
}

/// Refuses options of one job beside `--batch`: each line of the list has its own.
fn check_batch(said: &OfOneJob) -> Result<(), UsageError> {
    match *said == OfOneJob::default() {
        true => Ok(()),
        false => Err(UsageError::Conflict {
            what: "--batch is given together with options of a single job".to_owned(),
            next: "Put them into the lines of the file, in front of each program. What holds for all jobs can be set by parameters: \
                --prtemca mapby, rankby, bindto, output, rtos."
                .to_owned(),
        }),
    }
}

pub(super) fn known_personality(option: &str, name: &str) -> Result<String, UsageError> {
    let lower = name.to_ascii_lowercase();
    if lower == "prte" || lower.starts_with("ompi") {
        return Ok(lower);
    }
    Err(UsageError::value(option, format!("there is no personality {name:?}"), "Give prte, or ompi."))
}

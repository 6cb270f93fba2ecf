//! Options of Open MPI's `mpirun` that are about its libraries: each becomes options of ours. The names and values of
//! the libraries' parameters are those that the native runtime of Open MPI 5.0.11 sets.

use std::path::{Path, PathBuf};

use ferrite_types::{EnvOp, RuntimeOptions};

use super::error::UsageError;

/// An option of Open MPI.
pub(crate) struct OmpiOption {
    name: &'static str,
    meaning: Meaning,
}

enum Meaning {
    /// It takes no value and is the same as these words.
    Words(&'static [&'static str]),
    /// It takes one of these values, each of which is the same as some words; `{}` is the value.
    Values(&'static [(&'static str, &'static [&'static str])]),
    /// It takes any value, and is the same as these words.
    AnyValue(&'static [&'static str]),
}

use Meaning::{AnyValue, Values, Words};

/// The parameter that says when to show how processes reach each other.
const SHOW_COMM: &str = "ompi_display_comm";
/// Survivors hear of failures, and the library tells the program.
const TOLERANT: &[&str] = &["--gmca", "mpi_ft_enable", "1", "--continuous"];
const HANDLER: &[&str] = &["--gmca", "mpi_initial_errhandler", "{}"];
const BUFFERING: &[&str] = &["--gmca", "ompi_stream_buffering", "{}"];

const ALL: &[OmpiOption] = &[
    OmpiOption {
        name: "with-ft",
        meaning: Values(&[
            ("ulfm", TOLERANT),
            ("mpi", TOLERANT),
            ("yes", TOLERANT),
            ("true", TOLERANT),
            ("1", TOLERANT),
            ("no", &[]),
            ("none", &[]),
            ("false", &[]),
            ("0", &[]),
        ]),
    },
    OmpiOption {
        name: "initial-errhandler",
        meaning: Values(&[
            ("mpi_errors_are_fatal", HANDLER),
            ("mpi_errors_abort", HANDLER),
            ("mpi_errors_return", HANDLER),
        ]),
    },
    OmpiOption { name: "display-comm", meaning: Words(&["--gmca", SHOW_COMM, "mpi_init"]) },
    OmpiOption { name: "display-comm-finalize", meaning: Words(&["--gmca", SHOW_COMM, "mpi_finalize"]) },
    OmpiOption { name: "stream-buffering", meaning: Values(&[("0", BUFFERING), ("1", BUFFERING), ("2", BUFFERING)]) },
    OmpiOption { name: "tmpdir", meaning: AnyValue(&["--prtemca", "prte_tmpdir_base", "{}"]) },
    OmpiOption { name: "do-not-resolve", meaning: Words(&["--prtemca", "prte_do_not_resolve", "1"]) },
];

impl OmpiOption {
    /// Returns the option with this name (without dashes).
    pub(crate) fn find(name: &str) -> Option<&'static OmpiOption> {
        ALL.iter().find(|option| option.name == name)
    }

    /// True when the option takes a value.
    pub(crate) fn takes_value(&self) -> bool {
        !matches!(self.meaning, Words(_))
    }

    /// Adds what the option means to the canonical tokens of an application.
    ///
    /// # Errors
    /// The value is none of those that the option knows.
    pub(crate) fn add_to(&self, tokens: &mut Vec<String>, value: &str) -> Result<(), UsageError> {
        let words = match self.meaning {
            Words(words) | AnyValue(words) => words,
            Values(values) => {
                let found = values.iter().find(|(known, _)| known.eq_ignore_ascii_case(value));
                found.map(|(_, words)| *words).ok_or_else(|| self.unknown(value, values))?
            }
        };
        // Both moments of the same display.
        let shown = tokens.iter().position(|token| token == SHOW_COMM).filter(|_| words.contains(&SHOW_COMM));
        match shown.and_then(|at| tokens.get_mut(at + 1)) {
            Some(moments) => *moments = "mpi_init,mpi_finalize".to_owned(),
            None => tokens.extend(words.iter().map(|word| word.replace("{}", value))),
        }
        Ok(())
    }

    fn unknown(&self, value: &str, values: &[(&str, &[&str])]) -> UsageError {
        let known: Vec<&str> = values.iter().map(|(known, _)| *known).collect();
        let option = format!("--{}", self.name);
        UsageError::value(
            &option,
            format!("{value:?} is no value of it"),
            format!("Give one of: {}.", known.join(", ")),
        )
    }
}

/// The names of all, for the check that no name has two meanings.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|option| option.name)
}

/// Returns what `mpirun` prints for `--version`; build tools look for the first line. Open MPI's `mpirun` says in the
/// environment who it is.
pub(crate) fn version(environment: &super::Environment) -> Option<String> {
    let tool = environment.get("OMPI_TOOL_NAME").filter(|name| !name.is_empty())?;
    let release = environment.get("OMPI_VERSION").filter(|release| !release.is_empty())?;
    Some(format!("{tool} (Open MPI) {release}\n\nRun by {}", super::help::version("prterun")))
}

/// Returns the place of the Open MPI whose `mpirun` runs us, as changes of the environment of processes: on another
/// node nothing else tells a program where its libraries are.
pub(crate) fn installation(environment: &super::Environment) -> Vec<EnvOp> {
    let of_mpirun = |name: &str| environment.get(name).filter(|value| !value.is_empty()).cloned();
    if of_mpirun("OMPI_TOOL_NAME").is_none() {
        return Vec::new();
    }
    let set = |name: &str| of_mpirun(name).map(|value| EnvOp::Set(name.to_owned(), value));
    let libraries = of_mpirun("OMPI_LIBDIR_LOC").map(|dir| EnvOp::Prepend("LD_LIBRARY_PATH".to_owned(), ':', dir));
    [set("OPAL_PREFIX"), set("PMIX_PREFIX"), libraries].into_iter().flatten().collect()
}

/// Returns the libpmix that the Open MPI whose `mpirun` runs us has brought along (spec L132). That of the
/// installation may be older: libpmix 4.2 cannot make the groups that Open MPI 5 asks for.
pub(crate) fn libpmix(environment: &super::Environment) -> Option<PathBuf> {
    let given = |name: &str| environment.get(name).filter(|value| !value.is_empty());
    given("OMPI_TOOL_NAME")?;
    let libraries = Path::new(given("OMPI_LIBDIR_LOC")?);
    ["openmpi/libpmix.so.2", "libpmix.so.2"].map(|file| libraries.join(file)).into_iter().find(|file| file.is_file())
}

/// Lets the library of a job that goes on after failures tell the program of them, where Open MPI's `mpirun` runs us:
/// survivors would wait for failed processes for ever. A value that the user gives for `mpi_ft_enable` stays.
pub(crate) fn announce_failures(options: &mut RuntimeOptions, env: &mut Vec<EnvOp>, environment: &super::Environment) {
    const ENABLE: &str = "OMPI_MCA_mpi_ft_enable";
    let by_mpirun = environment.get("OMPI_TOOL_NAME").is_some_and(|tool| !tool.is_empty());
    let is_said =
        environment.contains_key(ENABLE) || env.iter().any(|op| matches!(op, EnvOp::Set(name, _) if name == ENABLE));
    if by_mpirun && options.tolerates_failures() && !is_said {
        options.notify_errors = true;
        env.push(EnvOp::Set(ENABLE.to_owned(), "1".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::{announce_failures, installation};
    use crate::args::{Environment, Parsed, Run, parse};
    use ferrite_types::EnvOp;

    fn run(line: &str) -> Run {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&args, &Environment::new()) {
            Ok(Parsed::Run(run)) => *run,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn env_of(line: &str) -> Vec<(String, String)> {
        let set = |op| match op {
            EnvOp::Set(name, value) => (name, value),
            other => panic!("{other:?}"),
        };
        run(line).job_env.into_iter().map(set).collect()
    }

    #[test]
    fn options_about_the_libraries_become_their_parameters() {
        for (line, name, value) in [
            ("--display-comm a", "ompi_display_comm", "mpi_init"),
            ("-display-comm-finalize a", "ompi_display_comm", "mpi_finalize"),
            ("--display-comm-finalize --display-comm a", "ompi_display_comm", "mpi_init,mpi_finalize"),
            ("--initial-errhandler mpi_errors_return a", "mpi_initial_errhandler", "mpi_errors_return"),
            ("--stream-buffering=0 a", "ompi_stream_buffering", "0"),
            ("--with-ft ulfm a", "mpi_ft_enable", "1"),
        ] {
            assert_eq!(env_of(line), [(format!("OMPI_MCA_{name}"), value.to_owned())], "{line}");
        }
        assert!(env_of("--with-ft none a").is_empty());
    }

    #[test]
    fn a_job_with_fault_tolerance_goes_on_after_failures_and_its_processes_hear_of_them() {
        assert!(run("--with-ft ulfm a").warnings.is_empty());
        assert!(format!("{:?}", run("--with-ft ulfm a").unsaid).contains("continuous"), "it is said on the line");
        let params = ferrite_rm::Params::default();
        for (line, tolerant) in [("--with-ft mpi a", true), ("--with-ft no a", false), ("a", false)] {
            let mut run = run(line);
            run.apply_defaults(&params).expect("there is nothing wrong");
            assert_eq!(run.spec.options.announces_failures(), tolerant, "{line}");
        }
    }

    #[test]
    fn survivors_under_mpirun_hear_of_failures_unless_the_user_says_otherwise() {
        let mpirun = ("OMPI_TOOL_NAME".to_owned(), "mpirun".to_owned());
        let disabled = ("OMPI_MCA_mpi_ft_enable".to_owned(), "0".to_owned());
        let told = |line: &str, environment: &[(String, String)]| {
            let mut run = run(line);
            run.apply_defaults(&ferrite_rm::Params::default()).expect("there is nothing wrong");
            let environment = environment.iter().cloned().collect();
            announce_failures(&mut run.spec.options, &mut run.job_env, &environment);
            let enabled = EnvOp::Set("OMPI_MCA_mpi_ft_enable".to_owned(), "1".to_owned());
            (run.spec.options.announces_failures(), run.job_env.contains(&enabled))
        };
        assert_eq!(told("--enable-recovery a", slice::from_ref(&mpirun)), (true, true));
        assert_eq!(told("--enable-recovery a", &[]), (false, false), "not under mpirun");
        assert_eq!(told("a", slice::from_ref(&mpirun)), (false, false), "the first failure ends the job");
        assert_eq!(told("--enable-recovery --gmca mpi_ft_enable 0 a", slice::from_ref(&mpirun)), (false, false));
        assert_eq!(told("--enable-recovery a", &[mpirun, disabled]), (false, false));
    }

    #[test]
    fn values_that_mean_nothing_are_refused_with_those_that_do() {
        for line in ["--with-ft maybe a", "--initial-errhandler x a", "--stream-buffering 3 a"] {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let error = parse(&args, &Environment::new()).expect_err(line);
            assert!(error.next_step().contains("Give one of"), "{error}");
        }
    }

    #[test]
    fn options_of_the_runtime_become_its_parameters() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(run("--tmpdir /big a").params, [pair("prte_tmpdir_base", "/big")]);
        assert_eq!(run("--do-not-resolve a").params, [pair("prte_do_not_resolve", "1")]);
    }

    #[test]
    fn what_has_no_effect_is_told_under_every_personality() {
        let mut run = run("--personality ompi --novm --display-topo n0,n1 --bynode a");
        run.apply_defaults(&ferrite_rm::Params::default()).expect("there is nothing wrong");
        assert_eq!(run.warnings, ["--novm has no effect; remove it."]);
        assert_eq!(run.spec.display.topo, Some(vec!["n0".to_owned(), "n1".to_owned()]));
    }

    #[test]
    fn mpirun_says_which_open_mpi_it_belongs_to() {
        let args = ["--version".to_owned()];
        let says = |environment: &Environment| match parse(&args, environment) {
            Ok(Parsed::Print(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(says(&Environment::new()).starts_with("prterun (Ferrite)"));
        let pairs = [("OMPI_TOOL_NAME", "mpirun"), ("OMPI_VERSION", "5.0.11")];
        let environment = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert!(says(&environment).starts_with("mpirun (Open MPI) 5.0.11\n"), "{}", says(&environment));
    }

    #[test]
    fn processes_learn_where_the_open_mpi_of_mpirun_is() {
        let pairs =
            [("OMPI_TOOL_NAME", "mpirun"), ("OPAL_PREFIX", "/o"), ("PMIX_PREFIX", "/p"), ("OMPI_LIBDIR_LOC", "/o/l")];
        let all: Environment = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let set = |name: &str, value: &str| EnvOp::Set(name.to_owned(), value.to_owned());
        let libraries = EnvOp::Prepend("LD_LIBRARY_PATH".to_owned(), ':', "/o/l".to_owned());
        assert_eq!(installation(&all), [set("OPAL_PREFIX", "/o"), set("PMIX_PREFIX", "/p"), libraries]);
        let without = all.into_iter().filter(|(name, _)| name != "OMPI_TOOL_NAME").collect();
        assert!(installation(&without).is_empty(), "a variable that has stayed behind moves nothing");
    }

    #[test]
    fn open_mpis_own_permission_for_root_is_one() {
        let both = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
        let environment: Environment = both.map(|name| (name.to_owned(), "1".to_owned())).into();
        let may = |environment: &Environment| match parse(&["a".to_owned()], environment) {
            Ok(Parsed::Run(run)) => run.allow_root,
            other => panic!("{other:?}"),
        };
        assert!(may(&environment));
        assert!(!may(&[(both[0].to_owned(), "1".to_owned())].into()));
    }
}

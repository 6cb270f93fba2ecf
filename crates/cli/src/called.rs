//! The variables by which a PMIx tool that starts a launcher says how the two meet (spec L94, L139, L147).

use std::path::PathBuf;

use ferrite_driver::{Caller, Keepalive};

use crate::args::Environment;

/// The tool's address: the launcher calls it, waits for its release, and takes its directives.
const ADDRESS: &str = "PMIX_LAUNCHER_RNDZ_URI";
/// The file into which the launcher writes its own address.
const FILE: &str = "PMIX_LAUNCHER_RNDZ_FILE";
/// The name that the tool gives to the launcher.
const NAME: [&str; 2] = ["PMIX_SERVER_NSPACE", "PMIX_SERVER_RANK"];
/// A descriptor of a pipe, whose other end the tool has.
const KEEPALIVE: &str = "PMIX_KEEPALIVE_PIPE";
/// The longest namespace (bytes).
const MAX_NSPACE: usize = 255;

/// A complaint, and what to do instead.
pub(crate) type Complaint = (String, &'static str);

/// The words of the tool that has started this launcher.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) file: Option<PathBuf>,
    pub(crate) caller: Option<Caller>,
    pub(crate) keepalive: Option<Keepalive>,
}

impl Called {
    /// Reads the variables (spec L147).
    ///
    /// # Errors
    /// A value that cannot be read.
    pub(crate) fn of(environment: &Environment) -> Result<Called, Complaint> {
        let given = |name| environment.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let file = given(FILE).map(PathBuf::from);
        if let Some(path) = file.as_ref().filter(|path| !path.is_absolute()) {
            return Err((format!("{FILE}={} is no absolute path", path.display()), "Give the whole path of the file."));
        }
        let caller = match given(ADDRESS) {
            Some(address) => Some(Caller { address: address.to_owned(), own_name: own_name(&given)? }),
            None => None,
        };
        let keepalive = match given(KEEPALIVE).map(|text| (text, text.parse())) {
            None => None,
            Some((_, Ok(descriptor @ 0..))) => Some(Keepalive { descriptor, named_by: KEEPALIVE }),
            Some((text, _)) => {
                return Err((format!("{KEEPALIVE}={text} is no number of a descriptor"), "Unset it."));
            }
        };
        Ok(Called { file, caller, keepalive })
    }

    /// Reads the variables for a client of a DVM; `None` = no tool directs it (spec L139). `leaves` is the option by
    /// which it has no job of its own to be directed.
    ///
    /// # Errors
    /// A value that cannot be read, or a command line that cannot be directed.
    pub(crate) fn of_client(
        command: &str,
        leaves: Option<&str>,
        environment: &Environment,
    ) -> Result<Option<(Caller, Option<Keepalive>)>, Complaint> {
        if let Some(option) = leaves {
            Called::refuse(&format!("{command} {option}"), environment)?;
        }
        if environment.get(ADDRESS).is_none_or(String::is_empty) {
            return Ok(None);
        }
        let called = Called::of(environment)?;
        Ok(called.caller.map(|caller| (caller, called.keepalive)))
    }

    /// Complains of a tool that wants to direct a command which cannot be directed.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn refuse(command: &str, environment: &Environment) -> Result<(), Complaint> {
        match environment.get(ADDRESS).filter(|address| !address.is_empty()) {
            None => Ok(()),
            Some(_) => Err((
                format!("{ADDRESS} is set: a tool wants to direct {command}, which calls no tool"),
                "Let the tool start prterun or prun, or spawn its job itself in the DVM (PMIx_Spawn). Without a tool, unset it.",
            )),
        }
    }
}

fn own_name<'a>(given: &impl Fn(&'static str) -> Option<&'a str>) -> Result<Option<(String, u32)>, Complaint> {
    let (nspace, rank) = (given(NAME[0]), given(NAME[1]).unwrap_or("0"));
    match (nspace, rank.parse()) {
        (None, _) => Ok(None),
        (Some(nspace), Ok(rank)) if nspace.len() <= MAX_NSPACE => Ok(Some((nspace.to_owned(), rank))),
        (Some(nspace), _) => {
            let what = format!("{}={nspace} and {}={rank} are no name of a PMIx server", NAME[0], NAME[1]);
            Err((what, "The tool that sets them knows how; without a tool, unset both."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(variables: &[(&str, &str)]) -> Result<Called, Complaint> {
        Called::of(&variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn without_a_tool_there_is_nothing_to_obey() {
        assert_eq!(called(&[("PMIX_SERVER_NSPACE", "t.0"), (ADDRESS, "")]), Ok(Called::default()));
    }

    /// (spec L147)
    #[test]
    fn a_tool_names_itself_and_its_launcher() {
        let name = [("PMIX_SERVER_NSPACE", "t.0"), ("PMIX_SERVER_RANK", "0")];
        let found = called(&[&name[..], &[(ADDRESS, "t;tcp4://h:1"), (KEEPALIVE, "7")]].concat()).unwrap();
        let caller = Caller { address: "t;tcp4://h:1".to_owned(), own_name: Some(("t.0".to_owned(), 0)) };
        assert_eq!(found.caller, Some(caller));
        assert_eq!(found.keepalive.map(|kept| kept.descriptor), Some(7));
    }

    /// (spec L147)
    #[test]
    fn a_value_that_cannot_be_read_is_named() {
        let nspace = "n".repeat(MAX_NSPACE + 1);
        for (name, value) in [(KEEPALIVE, "-1"), (KEEPALIVE, "x"), (FILE, "a/b")] {
            let (what, _) = called(&[(name, value)]).unwrap_err();
            assert!(what.contains(&format!("{name}={value}")), "{what}");
        }
        for own in [[(NAME[0], "t"), (NAME[1], "x")], [(NAME[0], nspace.as_str()), (NAME[1], "0")]] {
            let (what, _) = called(&[&own[..], &[(ADDRESS, "t;tcp4://h:1")]].concat()).unwrap_err();
            assert!(what.contains(NAME[0]), "{what}");
        }
    }

    /// (spec L139)
    #[test]
    fn a_client_that_leaves_before_its_job_is_over_cannot_be_directed() {
        let environment: Environment = [(ADDRESS.to_owned(), "t;tcp4://h:1".to_owned())].into();
        let read = |option, environment: &Environment| Called::of_client("prun", option, environment);
        assert!(read(None, &environment).is_ok_and(|called| called.is_some()));
        let (what, _) = read(Some("--detach"), &environment).unwrap_err();
        assert!(what.contains("prun --detach"), "{what}");
        assert_eq!(read(Some("--detach"), &Environment::default()), Ok(None));
    }
}

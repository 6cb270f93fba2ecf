//! Options that change the environment of processes: `-x`, `--set-env` and the like, parameters of Open MPI and PMIx.
//! They are applied in the order of the line.

use std::collections::BTreeMap;

use ferrite_types::EnvOp;

use super::error::UsageError;

/// An environment, by name.
pub type Environment = BTreeMap<String, String>;

/// One option of the command line that changes the environment.
pub(crate) enum EnvArg<'a> {
    /// `-x`.
    Forward(&'a str),
    /// `--set-env`.
    Set(&'a str),
    /// `--unset-env`.
    Unset(&'a str),
    /// `--append-env`.
    Append(&'a str, &'a str),
    /// `--prepend-env`.
    Prepend(&'a str, &'a str),
}

/// True for variables that tell a process who it is in its job. A process of another job that inherited them would
/// report to the wrong server, so no pattern forwards them.
#[must_use]
pub fn is_launch_identity(name: &str) -> bool {
    const PREFIXES: [&str; 9] = [
        "PMIX_",
        "PRTE_",
        "PMI_",
        "PMI2_",
        "HYDI_",
        "OMPI_COMM_WORLD_",
        "OMPI_APP_CTX_",
        "OMPI_MCA_orte_",
        "OMPI_MCA_ess_",
    ];
    const NAMES: [&str; 9] = [
        "OMPI_UNIVERSE_SIZE",
        "OMPI_FIRST_RANKS",
        "OMPI_NUM_APP_CTX",
        "OMPI_ARGV",
        "OMPI_COMMAND",
        "OMPI_FILE_LOCATION",
        "OMPI_MCA_ess",
        "OMPI_MCA_initial_wdir",
        "MPI_LOCALNRANKS",
    ];
    let library_parameter = name.starts_with("PMIX_MCA_");
    !library_parameter && (PREFIXES.iter().any(|p| name.starts_with(p)) || NAMES.contains(&name))
}

/// Translates one option into changes; remarks go to `warnings`.
pub(crate) fn changes(
    arg: &EnvArg<'_>,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Vec<EnvOp>, UsageError> {
    match arg {
        EnvArg::Forward(text) => forward(text, environment, warnings),
        EnvArg::Set(text) => {
            let (name, value) = text
                .split_once('=')
                .filter(|(name, _)| is_name(name))
                .ok_or_else(|| malformed("--set-env", text, "NAME=VALUE, for example --set-env OMP_NUM_THREADS=4"))?;
            Ok(vec![EnvOp::Set(name.to_owned(), value.to_owned())])
        }
        EnvArg::Unset(name) => {
            if !is_name(name.strip_suffix('*').unwrap_or(name)) {
                return Err(malformed("--unset-env", name, "NAME, or PREFIX* for all names that begin so"));
            }
            Ok(vec![EnvOp::Unset((*name).to_owned())])
        }
        EnvArg::Append(target, value) => {
            let (name, separator) = target_of("--append-env", target)?;
            Ok(vec![EnvOp::Append(name, separator, (*value).to_owned())])
        }
        EnvArg::Prepend(target, value) => {
            let (name, separator) = target_of("--prepend-env", target)?;
            Ok(vec![EnvOp::Prepend(name, separator, (*value).to_owned())])
        }
    }
}

fn forward(text: &str, environment: &Environment, warnings: &mut Vec<String>) -> Result<Vec<EnvOp>, UsageError> {
    if let Some((name, value)) = text.split_once('=') {
        return match is_name(name) {
            true => Ok(vec![EnvOp::Set(name.to_owned(), value.to_owned())]),
            false => Err(malformed("-x", text, "VAR, VAR=VALUE or PREFIX*")),
        };
    }
    if let Some(prefix) = text.strip_suffix('*') {
        let fits = |name: &str| name.starts_with(prefix) && !is_launch_identity(name);
        let found: Vec<EnvOp> = set_all(environment.iter().filter(|(name, _)| fits(name)));
        if found.is_empty() {
            warnings.push(format!("-x {text}: no variable that can be forwarded begins with {prefix:?}."));
        }
        return Ok(found);
    }
    if !is_name(text) {
        return Err(malformed("-x", text, "VAR, VAR=VALUE or PREFIX*"));
    }
    if is_launch_identity(text) {
        warnings.push(format!("-x {text}: this variable is set by the runtime for each process and is not forwarded."));
        return Ok(Vec::new());
    }
    match environment.get(text) {
        Some(value) => Ok(vec![EnvOp::Set(text.to_owned(), value.clone())]),
        None => {
            warnings.push(format!("-x {text}: there is no such variable here, so it is not forwarded."));
            Ok(Vec::new())
        }
    }
}

/// Returns the changes that set these variables.
pub(crate) fn set_all<'a>(pairs: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<EnvOp> {
    pairs.map(|(name, value)| EnvOp::Set(name.clone(), value.clone())).collect()
}

/// Parses `NAME[c]`: a variable, and the character between its parts.
fn target_of(option: &str, text: &str) -> Result<(String, char), UsageError> {
    let form = "'NAME[c]' VALUE, where c is the character between the values, for example 'PATH[:]' /opt/bin";
    let parsed = text.strip_suffix(']').and_then(|t| t.split_once('[')).and_then(|(name, inside)| {
        let mut chars = inside.chars();
        Some((name, chars.next()?)).filter(|_| chars.next().is_none())
    });
    match parsed {
        Some((name, separator)) if is_name(name) => Ok((name.to_owned(), separator)),
        _ => Err(malformed(option, text, form)),
    }
}

/// True for a name of a variable. One with a blank was meant as several words, so it is refused.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '*', '\0']) && !name.contains(char::is_whitespace)
}

fn malformed(option: &str, text: &str, form: &str) -> UsageError {
    UsageError::value(option, format!("{text:?} cannot be understood"), format!("Write {option} {form}."))
}

/// Returns the change that sets a library parameter as the variable that the library reads.
pub(crate) fn parameter(option: &str, prefix: &str, key: &str, value: &str) -> Result<EnvOp, UsageError> {
    if !is_name(key) {
        return Err(malformed(option, key, "KEY VALUE"));
    }
    Ok(EnvOp::Set(format!("{prefix}{key}"), value.to_owned()))
}

/// Prefixes of parameters that belong to the runtime; with `--mca` they would reach the program only.
const RUNTIME_FRAMEWORKS: [&str; 12] =
    ["plm_", "ras_", "rmaps_", "odls_", "iof_", "ess_", "state_", "errmgr_", "rml_", "prte_", "orte_", "oob_"];

/// Returns a remark when `--mca` has a parameter of the runtime.
pub(crate) fn runtime_parameter(key: &str) -> Option<String> {
    RUNTIME_FRAMEWORKS.iter().any(|f| key.starts_with(f)).then(|| {
        format!("--mca {key}: this is a parameter of the runtime, and --mca reaches the program only; use --prtemca {key} VALUE.")
    })
}
/// The variables that permit root to run programs, if each is `1`.
pub(crate) const ROOT_PERMISSION: [&str; 2] = ["PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"];

/// The pair of variables by which root permits itself to run programs under Open MPI's `mpirun`.
const ROOT_PERMISSION_OF_OMPI: [&str; 2] = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];

/// True when both variables of a pair say that root may run programs.
#[must_use]
pub(super) fn root_by_environment(environment: &Environment) -> bool {
    let is_one = |name: &&str| environment.get(*name).is_some_and(|v| v == "1");
    [ROOT_PERMISSION, ROOT_PERMISSION_OF_OMPI].iter().any(|pair| pair.iter().all(is_one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_in_a_name_is_refused_and_one_in_a_value_is_not() {
        let op = |text: &str| forward(text, &Environment::new(), &mut Vec::new());
        assert_eq!(op("A=B 1"), Ok(vec![EnvOp::Set("A".into(), "B 1".into())]));
        for text in ["A B=1", "A B", " A=1"] {
            let error = op(text).unwrap_err();
            assert_eq!(error, malformed("-x", text, "VAR, VAR=VALUE or PREFIX*"));
        }
    }
}

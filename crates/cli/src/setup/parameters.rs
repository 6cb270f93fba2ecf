//! Reads all parameters: of files, of the environment and of the line.

use std::path::{Path, PathBuf};

use ferrite_rm::Params;

use super::SetupError;
use super::files::read_if_there;
use crate::machine::Surroundings;

/// Returns the parameter files, the site's first. They need not exist.
pub(crate) fn parameter_files(around: &Surroundings) -> Vec<PathBuf> {
    let site = around.prefix().map(|p| p.join("etc/prte-mca-params.conf"));
    site.into_iter().chain(in_home(around, ".prte/mca-params.conf")).collect()
}

/// Returns Open MPI's parameter files, which are read under its personality.
fn ompi_files(around: &Surroundings) -> impl Iterator<Item = PathBuf> {
    let prefix = around.environment.get("OPAL_PREFIX").map(Path::new);
    let site = prefix.map(|prefix| prefix.join("etc/openmpi-mca-params.conf"));
    site.into_iter().chain(in_home(around, ".openmpi/mca-params.conf"))
}

fn in_home(around: &Surroundings, file: &str) -> Option<PathBuf> {
    around.environment.get("HOME").map(|home| Path::new(home).join(file))
}

/// Files, then the environment, then the line; a bad value is found now and not at its first use. Under the personality
/// of Open MPI, which `personality` or a parameter asks for, its own files and variables come before all of them.
///
/// # Errors
/// A file that cannot be read, a name of the line that means nothing, or a value that cannot be used.
pub fn load_params(
    given: &[(String, String)],
    personality: Option<&str>,
    around: &Surroundings,
) -> Result<Params, SetupError> {
    let mut params = Params::default();
    load_own(&mut params, given, around)?;
    let asked = ["personality", "schizo_proxy"].into_iter().find_map(|name| params.text(name).ok().flatten());
    if personality.or(asked).is_some_and(|name| name.starts_with("ompi")) {
        params = Params::default();
        for path in ompi_files(around) {
            if let Some(text) = read_if_there("parameter file", &path)? {
                params.load_ompi_file(&path.to_string_lossy(), &text)?;
            }
        }
        params.load_ompi_env(variables(around));
        load_own(&mut params, given, around)?;
    }
    params.check()?;
    keep_at_head(&mut params)?;
    Ok(params)
}

/// Without `plm_ssh_pass_environ_mca_params` the parameters of the environment are the head's alone.
fn keep_at_head(params: &mut Params) -> Result<(), SetupError> {
    if !params.flag("plm_ssh_pass_environ_mca_params")? {
        let asked = params.text("ferrite_head_params")?.map(str::to_owned);
        let kept: Vec<String> = asked.into_iter().chain(params.of_environment().map(str::to_owned)).collect();
        params.set("ferrite_head_params", &kept.join(","));
    }
    Ok(())
}

fn load_own(params: &mut Params, given: &[(String, String)], around: &Surroundings) -> Result<(), SetupError> {
    for path in parameter_files(around) {
        if let Some(text) = read_if_there("parameter file", &path)? {
            params.load_file(&path.to_string_lossy(), &text)?;
        }
    }
    params.load_env(variables(around));
    given.iter().for_each(|(name, value)| params.set_by_line(name, value));
    Ok(())
}

fn variables(around: &Surroundings) -> impl Iterator<Item = (&str, &str)> {
    around.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

pub(super) fn tmpdir_base(params: &Params) -> Result<Option<String>, SetupError> {
    let own = params.text("prte_local_tmpdir_base")?;
    Ok(own.or(params.text("prte_tmpdir_base")?).map(str::to_owned))
}

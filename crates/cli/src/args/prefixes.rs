//! `--app-prefix`, `--app-pmix-prefix` and `--no-app-prefix`: where a program, its MPI library and its PMIx library are
//! installed on every node. They change the environment of its processes.

use ferrite_types::EnvOp;

use super::daemons::directory;
use super::env::Environment;
use super::error::UsageError;

/// The places of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefixes {
    app: Option<String>,
    pmix: Pmix,
}

/// The place of the PMIx library of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Pmix {
    /// The place that the DVM names.
    #[default]
    OfTheDvm,
    /// The place where the node finds it.
    Nowhere,
    /// Below this directory.
    Below(String),
}

impl Prefixes {
    /// Reads the options of a program; the environment says what they leave open.
    pub(crate) fn of(
        app: Option<String>,
        pmix: Option<String>,
        none: bool,
        environment: &Environment,
    ) -> Result<Prefixes, UsageError> {
        if pmix.is_some() && none {
            return Err(UsageError::Conflict {
                what: "--app-pmix-prefix and --no-app-prefix are both given".to_owned(),
                next: "Keep one of them.".to_owned(),
            });
        }
        let given = |name: &str| environment.get(name).filter(|text| !text.is_empty()).cloned();
        let pmix = match (pmix, given("PMIX_APP_PREFIX")) {
            (Some(dir), _) => Pmix::Below(directory("--app-pmix-prefix", dir)?),
            (None, _) if none || given("PMIX_APP_NO_PREFIX").is_some() => Pmix::Nowhere,
            (None, Some(dir)) => Pmix::Below(directory("PMIX_APP_PREFIX (environment)", dir)?),
            (None, None) => Pmix::OfTheDvm,
        };
        Ok(Prefixes { app: app.map(|dir| directory("--app-prefix", dir)).transpose()?, pmix })
    }

    /// Returns the changes of the environment, those that come first in a list of directories last.
    pub(crate) fn env(&self) -> Vec<EnvOp> {
        let set = |name: &str, value: &str| EnvOp::Set(name.to_owned(), value.to_owned());
        let front = |name: &str, dir: String| EnvOp::Prepend(name.to_owned(), ':', dir);
        let mut changes = Vec::new();
        match &self.pmix {
            Pmix::OfTheDvm => {}
            Pmix::Nowhere => changes.push(EnvOp::Unset("PMIX_PREFIX".to_owned())),
            Pmix::Below(dir) => {
                changes.extend([front("LD_LIBRARY_PATH", format!("{dir}/lib")), set("PMIX_PREFIX", dir)]);
            }
        }
        if let Some(dir) = &self.app {
            changes.push(front("PATH", format!("{dir}/bin")));
            changes.push(front("LD_LIBRARY_PATH", format!("{dir}/lib")));
            changes.push(set("OPAL_PREFIX", dir));
        }
        changes
    }
}

//! Open MPI's own parameters, as the runtime reads them (`--personality ompi`): names of its older releases become
//! those of today, and parameters of its libraries are left to the program.

use super::{Meaning, Origin, ParamError, Params, lines, parse_flag};

/// Prefix of Open MPI's parameters in the environment.
const PREFIX: &str = "OMPI_MCA_";

/// First words of parameters that are the runtime's. The libraries have frameworks of other names.
const RUNTIME: [&str; 14] = [
    "errmgr_", "ess_", "filem_", "grpcomm_", "iof_", "odls_", "orte_", "plm_", "prte_", "ras_", "rmaps_", "rml_",
    "routed_", "state_",
];

/// Switches of older releases that are a qualifier of the mapping today.
const QUALIFIERS: [(&str, &str); 3] = [
    ("rmaps_base_no_oversubscribe", ":nooversubscribe"),
    ("rmaps_base_no_schedule_local", ":nolocal"),
    ("rmaps_base_oversubscribe", ":oversubscribe"),
];

impl Params {
    /// Takes the parameters of the runtime from a file of Open MPI (`openmpi-mca-params.conf`).
    ///
    /// # Errors
    /// File and line of the first line that is not of the form `name = value`.
    pub fn load_ompi_file(&mut self, file: &str, text: &str) -> Result<(), ParamError> {
        for (line, name, value) in lines(file, text)? {
            self.put_ompi(name, value, Origin::File { file: file.to_owned(), line });
        }
        Ok(())
    }

    /// Takes the parameters of the runtime from every `OMPI_MCA_name=value` of an environment.
    pub fn load_ompi_env<'a>(&mut self, environment: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (variable, value) in environment {
            if let Some(name) = variable.strip_prefix(PREFIX) {
                self.put_ompi(name, value, Origin::Environment(variable.to_owned()));
            }
        }
    }

    fn put_ompi(&mut self, name: &str, value: &str, origin: Origin) {
        if let Some((_, qualifier)) = QUALIFIERS.iter().find(|(old, _)| *old == name) {
            if parse_flag(value) == Some(true) {
                let mapping = self.setting("mapby").map(|setting| setting.value.clone()).unwrap_or_default();
                self.put("mapby", &(mapping + qualifier), origin);
            }
            return;
        }
        let today = match name.strip_prefix("orte_") {
            Some(rest) => format!("prte_{rest}"),
            None => name.to_owned(),
        };
        let known = matches!(Meaning::of(&today), Meaning::Used(_)) && today.contains('_');
        if known || name == "plm" || RUNTIME.iter().any(|first| name.starts_with(first)) {
            self.put(&today, value, origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_open_mpi_become_those_of_today() {
        let mut params = Params::default();
        params
            .load_ompi_file("conf", "btl = tcp\norte_default_hostfile = hosts\nrmaps_base_mapping_policy = node\n")
            .unwrap();
        params.load_ompi_env([
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("OMPI_MCA_rmaps_base_no_schedule_local", "0"),
            ("OMPI_MCA_hwloc_base_binding_policy", "none"),
            ("OMPI_MCA_plm_rsh_agent", "rsh"),
            ("OMPI_MCA_pml", "ob1"),
            ("OMPI_MCA_output", "of the program"),
            ("HOME", "/root"),
        ]);
        let all: Vec<_> = params.iter().collect();
        let wanted = [
            ("bindto", "none"),
            ("mapby", "node:oversubscribe"),
            ("plm_ssh_agent", "rsh"),
            ("prte_default_hostfile", "hosts"),
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_parameter_of_the_runtime_that_nothing_uses_is_remarked_upon() {
        let mut params = Params::default();
        params.load_ompi_env([("OMPI_MCA_orte_hetero_nodes", "1"), ("OMPI_MCA_odls_base_sync", "1")]);
        let told = params.remarks();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].contains("environment variable OMPI_MCA_orte_hetero_nodes"), "{told:?}");
    }
}

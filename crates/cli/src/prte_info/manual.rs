//! The man page of all parameters, made from the table.

use ferrite_rm::params::{KNOWN, Known, UNUSED};

/// The text of `prte-parameters(7)`.
#[must_use]
pub fn manual() -> String {
    let mut page = format!(
        ".TH PRTE\\-PARAMETERS 7 \"November 1, 2026\" \"Ferrite {}\"\n.SH NAME\nprte\\-parameters \\- parameters of the runtime\n.SH DESCRIPTION\n",
        env!("CARGO_PKG_VERSION")
    );
    page.push_str(&INTRODUCTION.map(escaped).join("\n.PP\n"));
    page.push_str("\n.SH PARAMETERS\n");
    KNOWN.iter().for_each(|known| entry(&mut page, known));
    page.push_str(".SH PARAMETERS OF THE FIELD THAT ARE NOT USED\nEach costs one warning when it is set.\n");
    for group in UNUSED {
        page.push_str(&format!(".TP\n.B {}\n{}\n", escaped(&group.names.join(", ")), escaped(group.reason)));
    }
    page.push_str(".SH FILES\n.TP\n.I PREFIX/etc/prte\\-mca\\-params.conf\nThe site's parameters.\n");
    page.push_str(".TP\n.I ~/.prte/mca\\-params.conf\nThe user's parameters.\n");
    page.push_str(".SH SEE ALSO\n.BR prte_info (1),\n.BR prterun (1),\n.BR prte (1)\n");
    page
}

const INTRODUCTION: [&str; 4] = [
    "Parameters are set in the files below (NAME = VALUE, one a line), in the environment (PRTE_MCA_NAME=VALUE), and on \
     the command line (--prtemca NAME VALUE); what is said later in this list wins. An empty value unsets a parameter.",
    "Under --personality ompi, parameters of the runtime come from OMPI_MCA_NAME, ~/.openmpi/mca-params.conf and \
     $OPAL_PREFIX/etc/openmpi-mca-params.conf as well; orte_NAME is prte_NAME there.",
    "A parameter that is not used, or not known, costs one warning a command; an unknown one on the command line is an \
     error. The parameter ferrite_param_warnings ends the warnings.",
    "prte_info --all shows the value of each, and where it comes from.",
];

fn entry(page: &mut String, known: &Known) {
    let default = known.default.map_or_else(String::new, |default| format!("; default: {default}"));
    page.push_str(&format!(".TP\n.B {}\n", escaped(known.name)));
    page.push_str(&escaped(&format!("{} ({}{default})", known.doc, known.kind)));
    page.push('\n');
    if !known.synonyms.is_empty() {
        page.push_str(&escaped(&format!("Other names: {}.", known.synonyms.join(", "))));
        page.push('\n');
    }
}

/// Text that means nothing to the formatter.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('~', "\\(ti").replace('^', "\\(ha");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

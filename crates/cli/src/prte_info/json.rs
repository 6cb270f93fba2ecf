//! The answer as JSON, schema 1.

use ferrite_rm::params::Origin;
use serde_json::{Map, Value, json};

use super::Report;
use super::shown::{Idle, Used};

pub(super) fn of(report: &Report) -> String {
    let mut whole = Map::from_iter([("schema".to_owned(), json!(1))]);
    for (block, lines) in &report.facts {
        let mut object = Map::new();
        for (name, value) in lines {
            let name = name.to_lowercase().replace([' ', '-'], "_");
            match object.get_mut(&name) {
                Some(Value::Array(values)) => values.push(json!(value)),
                _ if name == "parameter_file" => drop(object.insert(name, json!([value]))),
                _ => drop(object.insert(name, json!(value))),
            }
        }
        whole.insert((*block).to_owned(), Value::Object(object));
    }
    if let Some(shown) = &report.parameters {
        whole.insert("parameters".to_owned(), shown.used.iter().map(parameter).collect());
        whole.insert("unused".to_owned(), shown.unused.iter().map(idle).collect());
    }
    format!("{:#}\n", Value::Object(whole))
}

fn parameter(used: &Used) -> Value {
    json!({
        "name": used.known.name,
        "value": used.value,
        "default": used.known.default,
        "source": used.origin.as_ref().map_or_else(|| json!({"kind": "default"}), source),
        "type": used.type_name(),
        "allowed": used.known.kind.to_string(),
        "help": used.known.doc,
        "synonyms": used.known.synonyms,
    })
}

fn idle(unused: &Idle) -> Value {
    let set = unused.set.as_ref();
    json!({
        "name": unused.name,
        "reason": unused.reason,
        "value": set.map(|(value, _)| value),
        "source": set.map(|(_, origin)| source(origin)),
    })
}

fn source(origin: &Origin) -> Value {
    match origin {
        Origin::File { file, line } => json!({"kind": "file", "file": file, "line": line}),
        Origin::Environment(variable) => json!({"kind": "environment", "variable": variable}),
        Origin::CommandLine(name) => json!({"kind": "command line", "name": name}),
        Origin::Dvm => json!({"kind": "dvm"}),
        Origin::Runtime => json!({"kind": "runtime"}),
    }
}

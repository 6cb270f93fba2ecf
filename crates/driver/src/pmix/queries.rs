//! Translates what PMIx tools ask about the DVM (`PMIx_Query_info`). Pure.

use ferrite_pmix::{Info, Question, Status};
use ferrite_pmix_sys as sys;
use ferrite_types::JobId;
use ferrite_wire::control::{JobStatus, Reply};

/// Checks that every question of a tool has an answer.
///
/// # Errors
/// When a key is not offered, or there is no question.
pub(super) fn check(questions: &[Question]) -> Result<(), Status> {
    let mut keys = questions.iter().flat_map(|question| &question.keys).peekable();
    if keys.peek().is_none() {
        return Err(Status::BAD_PARAM);
    }
    match keys.all(|key| key.as_bytes() == sys::PMIX_QUERY_NAMESPACES.to_bytes()) {
        true => Ok(()),
        false => Err(Status::NOT_SUPPORTED),
    }
}

/// Returns the namespaces of the jobs that are not over, separated by commas, from the list of all jobs.
///
/// # Errors
/// When the reply is no list of jobs.
pub(super) fn namespaces(dvm: &str, reply: Reply) -> Result<Vec<Info>, Status> {
    let Reply::Jobs(jobs) = reply else { return Err(Status::LOST_CONNECTION) };
    let open = jobs.iter().filter(|job: &&JobStatus| job.ending.is_none() && job.job != JobId::DAEMONS);
    let names: Vec<String> = open.map(|job| job.job.nspace(dvm)).collect();
    Ok(vec![Info::new(sys::PMIX_QUERY_NAMESPACES, names.join(",").as_str())])
}

#[cfg(test)]
mod tests {
    use ferrite_pmix::Value;
    use ferrite_types::JobState;
    use ferrite_wire::control::Ending;

    use super::*;

    fn question(keys: &[&str]) -> Vec<Question> {
        vec![Question { keys: keys.iter().map(|key| (*key).to_owned()).collect(), qualifiers: Vec::new() }]
    }

    #[test]
    fn what_has_no_answer_is_refused_with_all_that_is_asked_beside_it() {
        assert_eq!(check(&question(&["pmix.qry.ns"])), Ok(()));
        assert_eq!(check(&question(&["pmix.qry.ns", "pmix.qry.ptable"])), Err(Status::NOT_SUPPORTED));
        assert_eq!(check(&question(&[])), Err(Status::BAD_PARAM));
    }

    #[test]
    fn the_namespaces_are_those_of_jobs_that_are_not_over() {
        let job = |number, ending| JobStatus {
            job: JobId(number),
            name: String::new(),
            procs: 1,
            nodes: 1,
            first_node: String::new(),
            state: JobState::Running,
            exit_code: None,
            ending,
            waiting_for: String::new(),
            submitted_us: 0,
            running_us: None,
            ended_us: None,
        };
        let jobs = vec![job(1, Some(Ending::Done)), job(2, None), job(7, None)];
        let answer = namespaces("dvm", Reply::Jobs(jobs)).unwrap();
        assert_eq!(answer[0].value, Value::from("dvm@2,dvm@7"));
        assert_eq!(namespaces("dvm", Reply::Ordered), Err(Status::LOST_CONNECTION));
    }
}

//! Each parameter has a test that sets it and sees its effect. The list says which; a parameter without one fails here.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use ferrite_rm::params::KNOWN;

/// Parameters by the file of their test (a path in the checkout) and its function.
const TESTS: &[(&str, &str, &[&str])] = &[
    ("crates/cli/tests/lines.rs", "parameters_fill_what_the_line_leaves_open", &["ess_base_forward_signals"]),
    (
        "crates/cli/tests/lines.rs",
        "policies_about_failures_come_from_the_line_then_from_rtos_then_from_their_parameters",
        &[
            "state_base_continuous",
            "state_base_error_non_zero_exit",
            "state_base_notify_errors",
            "state_base_recoverable",
        ],
    ),
    ("crates/cli/tests/parameters.rs", "daemons_are_told_where_parameters_come_from", &["ferrite_origins"]),
    (
        "crates/cli/tests/parameters.rs",
        "daemons_load_the_libpmix_of_the_open_mpi_whose_mpirun_runs_us_unless_another_is_named",
        &["ferrite_libpmix"],
    ),
    (
        "crates/cli/tests/parameters.rs",
        "open_mpis_parameters_hold_under_its_personality_and_those_of_the_runtime_come_first",
        &["schizo_proxy"],
    ),
    (
        "crates/cli/tests/parameters.rs",
        "parameters_have_the_effect_of_their_options",
        &[
            "display",
            "output",
            "personality",
            "prte_default_dash_host",
            "prte_keep_fqdn_hostnames",
            "ras_simulator_max_slots",
            "rmaps_base_verbose",
            "rtos",
            "state_base_autorestart",
            "state_base_max_restarts",
        ],
    ),
    (
        "crates/cli/tests/parameters.rs",
        "parameters_of_the_environment_stay_at_the_head_when_they_are_not_to_be_passed_on",
        &["ferrite_head_params"],
    ),
    (
        "crates/cli/tests/parameters.rs",
        "the_number_of_daemons_is_limited_and_the_heads_node_is_one_of_them",
        &["prte_max_vm_size"],
    ),
    (
        "crates/cli/tests/parameters.rs",
        "this_host_is_known_by_its_name_without_a_prefix_and_by_a_name_that_has_its_address",
        &["prte_do_not_resolve", "prte_strip_prefix"],
    ),
    (
        "crates/cli/tests/parameters.rs",
        "what_has_no_effect_is_remarked_upon_wherever_it_is_set",
        &["ferrite_param_warnings"],
    ),
    (
        "crates/cli/tests/setup.rs",
        "debugging_of_daemons_travels_as_parameters",
        &["ferrite_log", "prte_debug_daemons", "prte_leave_session_attached"],
    ),
    ("crates/cli/tests/setup.rs", "each_obstacle_says_what_and_where_and_what_next", &["prte_allocation_required"]),
    (
        "crates/cli/tests/setup.rs",
        "in_a_job_of_slurm_its_nodes_are_the_allocation_without_an_option",
        &["ras_slurm_use_entire_allocation"],
    ),
    (
        "crates/cli/tests/setup.rs",
        "libraries_variables_are_forwarded_and_everything_on_request",
        &["prte_fwd_environment"],
    ),
    (
        "crates/cli/tests/setup.rs",
        "nodes_can_be_made_up_for_a_map_and_for_nothing_else",
        &["ras_simulator_num_nodes", "ras_simulator_slots"],
    ),
    (
        "crates/cli/tests/setup.rs",
        "the_default_hostfile_is_that_of_option_parameter_and_installation_in_this_order",
        &["prte_default_hostfile"],
    ),
    (
        "crates/cli/tests/setup.rs",
        "the_launch_agent_is_that_of_the_option_then_of_the_parameter",
        &["prte_launch_agent"],
    ),
    (
        "crates/core/src/daemon/settings.rs",
        "parameters_change_what_holds_without_them",
        &["iof_base_output_limit", "prte_connect_max_time"],
    ),
    (
        "crates/core/src/head/jobs/placement_defaults.rs",
        "parameters_of_the_dvm_fill_what_is_open",
        &["bindto", "hwloc_base_use_hwthreads_as_cpus", "mapby", "rankby"],
    ),
    (
        "crates/core/src/head/jobs/placement_defaults.rs",
        "placement_is_inherited_where_somebody_says_so",
        &["rmaps_default_inherit"],
    ),
    (
        "crates/core/tests/lifecycle.rs",
        "a_long_bring_up_names_the_nodes_that_it_waits_for",
        &["state_base_show_launch_progress"],
    ),
    (
        "crates/core/tests/lifecycle.rs",
        "a_parameter_lets_processes_leave_without_finalize",
        &["prte_allowed_exit_without_sync"],
    ),
    (
        "crates/core/tests/lifecycle.rs",
        "daemons_come_up_as_a_tree_or_all_from_the_head_with_the_same_end",
        &["plm_ssh_no_tree_spawn", "rml_base_radix"],
    ),
    (
        "crates/core/tests/lifecycle.rs",
        "slots_are_counted_by_what_a_parameter_names_also_in_place_of_those_that_are_stated",
        &["prte_set_default_slots", "prte_set_default_slots_override"],
    ),
    ("crates/core/tests/resources.rs", "a_job_waits_for_the_resources_of_another", &["ferrite_resources"]),
    (
        "crates/core/tests/history.rs",
        "a_job_that_is_in_memory_no_more_is_found_in_the_files",
        &["ferrite_history_jobs"],
    ),
    ("crates/core/tests/queue.rs", "later_jobs_pass_the_first_one_for_a_limited_time", &["ferrite_backfill"]),
    ("crates/core/tests/reasons.rs", "a_job_that_has_its_place_does_not_wait_for_it", &["ferrite_debug_prep_ms"]),
    (
        "crates/core/tests/sessions.rs",
        "a_job_that_was_mapped_before_its_session_was_paused_is_launched_when_it_is_resumed",
        &["prte_elastic_mode"],
    ),
    (
        "crates/core/tests/spawn.rs",
        "failures_of_spawned_jobs_do_not_count_when_they_are_reported_separately",
        &["prte_report_child_jobs_separately"],
    ),
    ("crates/core/tests/stacks.rs", "a_parameter_says_how_long_stacks_may_take", &["prte_timeout_for_stack_trace"]),
    (
        "crates/driver/src/children/tests.rs",
        "a_signal_can_be_for_the_process_alone_and_the_end_is_for_all",
        &["odls_base_signal_direct_children_only"],
    ),
    ("crates/driver/src/launcher.rs", "no_more_run_at_a_time_than_allowed", &["plm_ssh_num_concurrent"]),
    (
        "crates/driver/src/link/interfaces.rs",
        "parameters_choose_networks_and_must_leave_one",
        &["prte_if_exclude", "prte_if_include"],
    ),
    ("crates/driver/src/pmix/library.rs", "start", &["ferrite_pmixd"]),
    (
        "crates/driver/src/spawn/tests.rs",
        "processes_find_what_is_installed_below_a_prefix",
        &["ferrite_pmix_prefix", "ferrite_prefix"],
    ),
    (
        "crates/driver/src/spawn/tests.rs",
        "processes_get_the_limits_that_the_parameter_asks_for",
        &["prte_set_max_sys_limits"],
    ),
    (
        "crates/rm/src/launcher.rs",
        "in_a_job_of_slurms_its_own_launcher_is_used_unless_another_is_asked_for",
        &["plm_slurm_args"],
    ),
    (
        "crates/rm/src/launcher.rs",
        "the_commands_of_every_launcher",
        &["plm", "plm_ssh_agent", "plm_ssh_args", "plm_ssh_chdir"],
    ),
    ("crates/rm/src/managers/tests.rs", "the_innermost_manager_counts_unless_the_parameter_leaves_it_out", &["ras"]),
    (
        "xtask/src/scenarios/attacks_bounds.rs",
        "a_flood_of_strangers_at_the_metrics_port_keeps_no_submission_out",
        &["ferrite_metrics"],
    ),
    (
        "xtask/src/scenarios/attacks_pmix.rs",
        "garbage_behind_a_valid_message_costs_the_job_and_no_daemon",
        &["ferrite_pmix_patience_ms"],
    ),
    (
        "xtask/src/scenarios/bad_input.rs",
        "a_node_that_does_not_answer_is_named_and_the_others_are_cleaned_up",
        &["ferrite_launch_timeout"],
    ),
    (
        "crates/core/tests/spreads.rs",
        "few_bytes_few_daemons_and_zero_mean_the_routing_tree",
        &["ferrite_second_tree_bytes"],
    ),
    ("crates/core/tests/sizes.rs", "the_usual_time_is_a_parameter", &["ferrite_resize_time"]),
    (
        "crates/core/tests/policy.rs",
        "a_job_that_has_refused_or_not_answered_is_left_alone_for_a_while",
        &["ferrite_elastic_pause", "ferrite_elastic_policy"],
    ),
    (
        "xtask/src/scenarios/elastic.rs",
        "elastic_a_leaving_daemon_that_stands_still_is_waited_for_and_given_up",
        &["ferrite_heartbeat_ms"],
    ),
    (
        "xtask/src/scenarios/elastic.rs",
        "elastic_the_nodes_are_offered_back_before_anybody_is_told",
        &["ferrite_release_command"],
    ),
    (
        "xtask/src/scenarios/elastic_pmix.rs",
        "events_without_a_name_in_pmix_are_sent_only_on_demand",
        &["prte_dvm_events"],
    ),
    (
        "xtask/src/scenarios/logs.rs",
        "an_email_goes_to_the_mail_program_whose_exit_code_is_the_answer",
        &["ferrite_sendmail"],
    ),
    (
        "xtask/src/scenarios/logs.rs",
        "the_job_log_has_a_line_for_each_text_of_any_node_and_a_full_disk_is_said",
        &["ferrite_job_log"],
    ),
    ("xtask/src/scenarios/machine.rs", "a_map_of_nodes_that_do_not_exist_starts_nothing", &["hwloc_use_topo_file"]),
    (
        "xtask/src/scenarios/machine.rs",
        "memory_comes_from_the_domains_of_the_processors_when_that_is_asked_for",
        &["ferrite_mem_policy"],
    ),
    ("xtask/src/scenarios/machine.rs", "processors_are_taken_away_by_a_parameter", &["hwloc_default_cpu_list"]),
    ("xtask/src/scenarios/objects.rs", "a_job_that_fails_shows_the_state_of_the_seed", &["state_base_verbose"]),
    (
        "xtask/src/scenarios/parameters.rs",
        "daemons_of_other_nodes_get_the_library_path_and_only_the_parameters_that_are_passed_on",
        &["plm_ssh_pass_environ_mca_params", "plm_ssh_pass_libpath"],
    ),
    (
        "xtask/src/scenarios/parameters.rs",
        "each_kind_of_node_has_its_own_base_of_session_directories",
        &["prte_local_tmpdir_base", "prte_remote_tmpdir_base", "prte_tmpdir_base"],
    ),
    (
        "xtask/src/scenarios/parameters.rs",
        "limits_and_an_agent_reach_the_processes_of_every_node",
        &["odls_base_exec_agent"],
    ),
    ("xtask/src/scenarios/parameters.rs", "the_times_of_a_run_are_said_at_its_end", &["ferrite_timing"]),
    (
        "xtask/src/scenarios/parameters.rs",
        "verbose_parameters_tell_of_nodes_launchers_and_processes",
        &["odls_base_verbose", "plm_base_verbose", "ras_base_verbose"],
    ),
];

#[test]
fn every_parameter_has_a_test_of_its_effect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut faults = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (file, test, names) in TESTS {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        if !text.contains(&format!("fn {test}(")) {
            faults.push(format!("{file} has no function {test}"));
        }
        for name in *names {
            *seen.entry(name).or_default() += 1;
            let known = KNOWN.iter().find(|known| known.name == *name);
            let spelled = known.into_iter().flat_map(|known| known.synonyms.iter().copied().chain([known.name]));
            if !spelled.into_iter().any(|name| text.contains(name)) {
                faults.push(format!("{file} does not set {name}"));
            }
        }
    }
    for known in KNOWN {
        if seen.remove(known.name) != Some(1) {
            faults.push(format!("{} is to be in the list once", known.name));
        }
    }
    faults.extend(seen.keys().map(|name| format!("there is no parameter {name}")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

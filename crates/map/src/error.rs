//! The errors of placement: the numbers, and what would work instead.

use std::fmt::Write as _;

use ferrite_types::resources::{Amounts, MEMORY, amount_in_words, amounts_in_words, named_amount};
use ferrite_types::{CpuSet, JobMap, NodeId, ObjectKind};
use thiserror::Error;

use crate::placement_policy::kind_word;

/// A job that cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MapError {
    /// More processes than slots.
    #[error("{}", shortage(*asked, program, *free, nodes))]
    NotEnoughSlots {
        /// Processes asked for; `None` = as many as there are slots.
        asked: Option<u32>,
        /// The app's program.
        program: String,
        /// Slots free on its nodes.
        free: u32,
        /// The nodes.
        nodes: Vec<NodeSlots>,
    },
    /// More processes than `max_slots` permits, with oversubscription.
    #[error(
        "{asked} processes of {program:?} are asked for, but the limits of the nodes (max_slots) leave room for {room}; ask for fewer processes (-n {room}) or raise max_slots in the hostfile"
    )]
    MaxSlots {
        /// Processes asked for.
        asked: u32,
        /// The app's program.
        program: String,
        /// Processes that would fit.
        room: u32,
    },
    /// `-n 0`.
    #[error("0 processes of {program:?} are asked for; ask for at least one, or leave out -n to fill all slots")]
    NoProcesses {
        /// The app's program.
        program: String,
    },
    /// No node may be used.
    #[error("no node is left for {program:?}: {why}")]
    NoNodes {
        /// The app's program.
        program: String,
        /// The rule that removed them.
        why: &'static str,
    },
    /// A selected node has left the pool meanwhile.
    #[error("node {} of the selection is no longer part of the allocation; submit the job again", .0.0)]
    UnknownNode(NodeId),
    /// Mapping onto objects that a node does not have.
    #[error("cannot map by {}: node {node} has none that may be used; map by something that it has (it has: {has})", kind_word(*kind))]
    MissingObject {
        /// The node.
        node: String,
        /// The kind.
        kind: ObjectKind,
        /// Kinds that it has.
        has: String,
    },
    /// Binding to objects that a node does not have.
    #[error("cannot bind to {}: node {node} has none that may be used; use --bind-to none, or --bind-to {}:if-supported", kind_word(*kind), kind_word(*kind))]
    MissingBindObject {
        /// The node.
        node: String,
        /// The kind.
        kind: ObjectKind,
    },
    /// `--map-by core --bind-to package`.
    #[error("cannot bind to {0} when mapping by {1}: a {0} is larger than a {1}; bind to {1} or something inside of it, or map by {0}", kind_word(*bind), kind_word(*map))]
    BindAboveMap {
        /// Binding.
        bind: ObjectKind,
        /// Mapping.
        map: ObjectKind,
    },
    /// `--rank-by fill` without objects.
    #[error(
        "cannot rank by {rank}: the processes are mapped by {map}, not by objects of a node; rank by slot or node, or map by core, package or another object"
    )]
    RankNeedsObjects {
        /// Ranking.
        rank: &'static str,
        /// Mapping.
        map: String,
    },
    /// `-n 8 --map-by ppr:2:node` on three nodes.
    #[error(
        "-n {asked} and ppr:{per} contradict each other for {program:?}: {units} give {total} processes; use -n {total}, leave out -n, or ask for more per object"
    )]
    PprConflict {
        /// Processes asked for.
        asked: u32,
        /// `2:node`.
        per: String,
        /// `3 nodes`.
        units: String,
        /// Processes that ppr gives.
        total: u32,
        /// The app's program.
        program: String,
    },
    /// `--map-by slot:SPAN`.
    #[error(
        "cannot map by {map} with SPAN: it spreads the processes over objects of a node; map by core, numa, package or another object, or use --map-by node"
    )]
    SpanNeedsObjects {
        /// Mapping.
        map: String,
    },
    /// `--map-by package:PE=2 --bind-to package`.
    #[error("cannot bind to {bind} when {}; leave out --bind-to, or use --bind-to {}", exact(map, *pes), kind_word(*unit))]
    BindNotUnit {
        /// Mapping.
        map: String,
        /// Processors for each process.
        pes: Option<u16>,
        /// Binding.
        bind: &'static str,
        /// The required kind.
        unit: ObjectKind,
    },
    /// More processes than processors, without permission to overload.
    #[error("{}", overload(*asked, program, binding, nodes))]
    Overload {
        /// Processes asked for; `None` = as many as there are slots.
        asked: Option<u32>,
        /// The app's program.
        program: String,
        /// The requested binding.
        binding: Binding,
        /// The nodes.
        nodes: Vec<NodeProcessors>,
    },
    /// `PE=n` where no object has so many.
    #[error("{}", too_large(*asked, map, node, *most, *larger))]
    ProcessTooLarge {
        /// Processors for each process.
        asked: u16,
        /// Mapping.
        map: String,
        /// A node.
        node: String,
        /// The most that one object has there.
        most: u32,
        /// The smallest kind of object that has as many.
        larger: Option<ObjectKind>,
    },
    /// A listed processor does not exist.
    #[error(
        "pe-list names {unit} {number}, but {unit}s of node {node} that may be used are {there} (logical numbers, as lstopo shows them); correct the list"
    )]
    NoSuchProcessor {
        /// `core`.
        unit: &'static str,
        /// The named number.
        number: u32,
        /// A node.
        node: String,
        /// The existing processors.
        there: CpuSet,
    },
    /// A list of processors in several packages.
    #[error(
        "pe-list={list} is in more than one package of node {node}, and each process would be bound to all of it; use pe-list={list}:ORDERED for a processor each, or list processors of one package"
    )]
    ListSpansPackages {
        /// The list.
        list: String,
        /// A node.
        node: String,
    },
    /// A line names processors that its node does not have.
    #[error("{what} is not on node {node} (or may not be used); correct the line of {rank}")]
    NoSuchPlace {
        /// `core 12 of package 0`.
        what: String,
        /// The node.
        node: String,
        /// `rank 3`.
        rank: String,
    },
    /// Two lines share a processor.
    #[error(
        "rank {rank} is to be bound to hardware threads {cpus} of node {node}, and {shared} of these are taken; correct the file, or use --bind-to core:overload-allowed"
    )]
    PlaceTaken {
        /// The rank.
        rank: u32,
        /// The requested processors.
        cpus: CpuSet,
        /// The processors among them that are taken.
        shared: CpuSet,
        /// The node.
        node: String,
    },
    /// `-n 4` with three lines.
    #[error(
        "{asked} processes of {program:?} are asked for, but the list for --map-by seq has {lines} places; use -n {lines}, or add lines"
    )]
    SequenceTooShort {
        /// Processes asked for.
        asked: u32,
        /// Lines.
        lines: u32,
        /// The app's program.
        program: String,
    },
    /// A rank without a line.
    #[error(
        "the rankfile says nothing of rank {rank} of {program:?}; add a line `rank {rank}=HOST slot=CPUS`, or ask for fewer processes"
    )]
    RankMissing {
        /// The rank.
        rank: u32,
        /// The app's program.
        program: String,
    },
    /// Fewer devices than one process needs.
    #[error(
        "{what}: each process needs {needed}, and node {node} has {}; {}", in_use(*there, *taken), if *taken > 0 { "--wait-for-slots (prun) waits for them" } else { "`--display topo` shows its devices" }
    )]
    TooFewDevices {
        /// Devices for each process.
        needed: u16,
        /// `devices of class gpu`.
        what: String,
        /// A node.
        node: String,
        /// The existing number.
        there: u32,
        /// The number of them that are in use.
        taken: u32,
    },
    /// A graphics processor without a name that its maker's libraries accept.
    #[error(
        "device {device} of node {node} has no name that its maker's libraries understand, so processes could not be told which one is theirs; map by the numa or package next to it instead"
    )]
    NamelessDevice {
        /// The device.
        device: String,
        /// The node.
        node: String,
    },
    /// Binding to more than the locality of the device.
    #[error("cannot bind to {} near device {device} of node {node}: the device belongs to one {within}, and no {} is inside of that; bind to {within} or something smaller", kind_word(*bind), kind_word(*bind))]
    BindBeyondDevice {
        /// The device.
        device: String,
        /// Binding.
        bind: ObjectKind,
        /// The locality of the device.
        within: &'static str,
        /// The node.
        node: String,
    },
    /// More processes than devices.
    #[error(
        "{asked} processes of {program:?} are asked for, but the {}devices are enough for {there}; use -n {there}, {}", if *taken > 0 { "free " } else { "" }, if *taken > 0 { WAIT } else { "or let processes share devices: --map-by device=...:SHARED" }
    )]
    DevicesTaken {
        /// Processes asked for.
        asked: u32,
        /// Processes for which the free devices suffice.
        there: u32,
        /// The number of devices that are in use.
        taken: u32,
        /// The app's program.
        program: String,
    },
    /// Processes that take more of the resources than the nodes have.
    #[error("{}", resources_short(*asked, program, takes, *room, nodes))]
    NotEnoughResources {
        /// Processes asked for; `None` = as many as fit.
        asked: Option<u32>,
        /// The app's program.
        program: String,
        /// What each process takes.
        takes: Amounts,
        /// Processes that fit.
        room: u32,
        /// The nodes, with their amounts of each resource.
        nodes: Vec<(String, Vec<ResourceAmount>)>,
    },
    /// Processes that take more than is left of what all nodes of the DVM share.
    #[error("{}", shared_short(*asked, program, each, once, *room, amounts))]
    NotEnoughShared {
        /// Processes asked for; `None` = as many as fit.
        asked: Option<u32>,
        /// The app's program.
        program: String,
        /// What each process takes.
        each: Amounts,
        /// What they take together.
        once: Amounts,
        /// Processes that fit.
        room: u32,
        /// The amounts of each of these resources.
        amounts: Vec<ResourceAmount>,
    },
    /// An amount for the whole job of something that the nodes of the DVM do not share.
    #[error(
        "{program:?} is to take {resource} once for the whole job (/job), and the DVM has no {resource} that all nodes \
         share\nThe parameter ferrite_resources of the DVM states such resources: --prtemca ferrite_resources \
         dvm:{resource}=2. Of a resource of nodes each process takes its own: --resource {resource}=1"
    )]
    NotShared {
        /// The resource.
        resource: String,
        /// The app's program.
        program: String,
    },
    /// More processes than a map can hold.
    #[error("{procs} processes are more than one job can have ({})", JobMap::MAX_PROCS)]
    TooManyProcs {
        /// The number of processes.
        procs: u64,
    },
    /// More processes on a node than a local rank (16 bits) can count.
    #[error("{procs} processes on node {node} are more than one node can have (65535)")]
    TooManyOnNode {
        /// The node.
        node: String,
        /// The number of processes.
        procs: u32,
    },
}

/// The slots of one node and their origin, for the message about too few slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSlots {
    /// The node.
    pub name: String,
    /// Its slots.
    pub slots: u32,
    /// True when they were stated and not counted from cores.
    pub given: bool,
    /// Slots that running jobs use.
    pub inuse: u32,
    /// Slots that earlier apps of this job use.
    pub earlier: u32,
    /// Cap by this app's `--host` or hostfile.
    pub cap: Option<u32>,
    /// The node's share by ppr, where that is less than it has free.
    pub share: Option<u32>,
}

/// A resource of one node, or of the DVM, for the message about too few resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceAmount {
    /// The resource.
    pub resource: String,
    /// What the node, or the DVM, has, and what running jobs take of it; `None` = nobody has stated it.
    pub there: Option<(u64, u64)>,
    /// What other programs of this job take.
    pub own: u64,
}

/// The requested binding, for the message about too few processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The kind of object.
    pub kind: ObjectKind,
    /// Processors for each process.
    pub pes: Option<u16>,
    /// At most so many processes on one object.
    pub limit: Option<u16>,
    /// `core` or `hwthread`.
    pub unit: &'static str,
}

/// The processors of one node, for the message about too few processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProcessors {
    /// The node.
    pub name: String,
    /// Slots that are free.
    pub slots: u32,
    /// Processors that may be used.
    pub processors: u32,
    /// Number of them to which no process is bound.
    pub free: u32,
    /// Processes that can be bound there.
    pub room: u32,
}

/// The most nodes that a message lists; the others are counted.
const LISTED: usize = 8;

fn shortage(asked: Option<u32>, program: &str, free: u32, nodes: &[NodeSlots]) -> String {
    let mut text = match asked {
        Some(n) => format!(
            "{program:?} is to have {}, and {} {} free on {}",
            count(n, "process"),
            count(free, "slot"),
            if free == 1 { "is" } else { "are" },
            count(nodes.len() as u32, "node")
        ),
        None => {
            format!("{program:?} is to have a process, and no slot is free on {}", count(nodes.len() as u32, "node"))
        }
    };
    for node in nodes.iter().take(LISTED) {
        let how = if node.given { "as stated" } else { "from its cores" };
        let _ = write!(text, "\n    {}: {} ({how})", node.name, count(node.slots, "slot"));
        if node.inuse > 0 {
            let _ = write!(text, ", {} in use by running jobs", node.inuse);
        }
        if node.earlier > 0 {
            let _ = write!(text, ", {} taken by other applications of this job", node.earlier);
        }
        if let Some(cap) = node.cap {
            let _ = write!(text, ", at most {cap} by --host or hostfile");
        }
        if let Some(share) = node.share {
            let _ = write!(text, ", at most {share} by ppr");
        }
    }
    if nodes.len() > LISTED {
        let _ = write!(text, "\n    ... and {} more", nodes.len() - LISTED);
    }
    text.push_str(
        "\nA node's slots are what the hostfile (slots=N) or --host (name:N) states, else the number of its cores.\n",
    );
    match free {
        0 => text.push_str("State more slots,"),
        n => {
            let _ = write!(text, "Ask for fewer processes (-n {n}), state more slots,");
        }
    }
    text.push_str(" or allow more processes than slots: --map-by :OVERSUBSCRIBE");
    text
}

/// What to do about devices that others use.
const WAIT: &str = "or wait for those in use: --wait-for-slots (prun)";

/// `4, of which 1 is in use`.
fn in_use(there: u32, taken: u32) -> String {
    match taken {
        0 => there.to_string(),
        1 => format!("{there}, of which 1 is in use"),
        _ => format!("{there}, of which {taken} are in use"),
    }
}

fn resources_short(
    asked: Option<u32>,
    program: &str,
    takes: &Amounts,
    room: u32,
    nodes: &[(String, Vec<ResourceAmount>)],
) -> String {
    let each = amounts_in_words(takes);
    let mut text = match asked {
        Some(n) => {
            let procs = count(n, "process");
            format!("{program:?} is to have {procs} with {each} each, and the nodes have enough for {room}")
        }
        None => format!("{program:?} is to have processes with {each} each, and no node has enough for one"),
    };
    let mut in_use = false;
    let mut unknown = None;
    for (node, amounts) in nodes.iter().take(LISTED) {
        let _ = write!(text, "\n    {node}:");
        for (at, ResourceAmount { resource: name, there, own }) in amounts.iter().enumerate() {
            let _ = write!(text, "{} ", if at > 0 { "," } else { "" });
            let Some((there, taken)) = there else {
                unknown = Some(name);
                let _ = write!(text, "{name} is not stated");
                continue;
            };
            let _ = write!(text, "{}", named_amount(name, *there));
            if *taken > 0 {
                in_use = true;
                let _ = write!(text, ", {} in use by running jobs", amount_in_words(name, *taken));
            }
            if *own > 0 {
                let _ = write!(text, ", {} taken by other applications of this job", amount_in_words(name, *own));
            }
        }
    }
    if nodes.len() > LISTED {
        let _ = write!(text, "\n    ... and {} more", nodes.len() - LISTED);
    }
    match (unknown, in_use) {
        (Some(name), _) => {
            let example = if name == MEMORY { "16G" } else { "2" };
            let _ = write!(
                text,
                "\nThe parameter ferrite_resources of the DVM states what nodes have: --prtemca ferrite_resources \
                 {name}={example}"
            );
        }
        (None, in_use) => text.push_str(&less_of(room, in_use, "each of them")),
    }
    text
}

fn shared_short(
    asked: Option<u32>,
    program: &str,
    each: &Amounts,
    once: &Amounts,
    room: u32,
    amounts: &[ResourceAmount],
) -> String {
    let procs = asked.map_or_else(|| "processes".to_owned(), |n| count(n, "process"));
    let mut what = Vec::new();
    if !each.is_empty() {
        what.push(format!("with {} each", amounts_in_words(each)));
    }
    if !once.is_empty() {
        what.push(format!("with {} for all of them", amounts_in_words(once)));
    }
    let mut text = format!("{program:?} is to have {procs} {}, and the DVM has enough for {room}", what.join(" and "));
    let mut in_use = false;
    // Nobody waits for more than there is.
    let wanted = |name: &String| [each, once].iter().filter_map(|all| all.get(name)).sum::<u64>();
    let can_be = amounts.iter().all(|it| it.there.is_some_and(|(there, _)| wanted(&it.resource) <= there));
    for ResourceAmount { resource: name, there, own } in amounts {
        let (there, taken) = there.unwrap_or_default();
        let _ = write!(text, "\n    the DVM: {}", named_amount(name, there));
        if taken > 0 {
            in_use = can_be;
            let _ = write!(text, ", {} in use by running jobs", amount_in_words(name, taken));
        }
        if *own > 0 {
            let _ = write!(text, ", {} taken by other applications of this job", amount_in_words(name, *own));
        }
    }
    text.push_str(&less_of(room, in_use, if each.is_empty() { "the job" } else { "each of them" }));
    text
}

/// What to do when there is enough for so many processes.
fn less_of(room: u32, in_use: bool, of: &str) -> String {
    match (in_use, room) {
        (true, 0) => "\nWait for what is in use: --wait-for-slots (prun)".to_owned(),
        (true, _) => {
            format!("\nAsk for fewer processes (-n {room}), or wait for what is in use: --wait-for-slots (prun)")
        }
        (false, 0) if of == "each of them" => "\nAsk for less for each process.".to_owned(),
        (false, 0) => format!("\nAsk for less for {of}."),
        (false, _) => format!("\nAsk for fewer processes (-n {room}), or for less for {of}."),
    }
}

fn exact(map: &str, pes: Option<u16>) -> String {
    match pes {
        Some(n) => format!("each process has {n} processors of its own (PE={n})"),
        None => format!("mapping by {map}, which says what each process is bound to"),
    }
}

fn overload(asked: Option<u32>, program: &str, binding: &Binding, nodes: &[NodeProcessors]) -> String {
    let Binding { kind, pes, limit, unit } = binding;
    let room = nodes.iter().fold(0u32, |sum, node| sum.saturating_add(node.room));
    let asked = asked.unwrap_or_else(|| nodes.iter().fold(0u32, |sum, node| sum.saturating_add(node.slots)));
    let mut text = format!(
        "cannot bind {} of {program:?} to {}: there is room for {room} on {}",
        count(asked, "process"),
        kind_word(*kind),
        count(nodes.len() as u32, "node"),
    );
    for node in nodes.iter().take(LISTED) {
        let NodeProcessors { name, slots, processors, free, room } = node;
        let _ = write!(
            text,
            "\n    {name}: {}, {}, {free} free: room for {room}",
            count(*slots, "slot"),
            count(*processors, unit)
        );
    }
    if nodes.len() > LISTED {
        let _ = write!(text, "\n    ... and {} more", nodes.len() - LISTED);
    }
    if let Some(n) = pes {
        let _ = write!(text, "\nEach process takes {} (PE={n}), all in one package.", count(u32::from(*n), unit));
    }
    if let Some(n) = limit {
        let _ = write!(text, "\nEach {} takes at most {n} (limit={n}).", kind_word(*kind));
    }
    let fewer = if room > 0 { format!("Ask for fewer processes (-n {room}), or") } else { "Instead,".to_owned() };
    let next = match (limit, pes) {
        (Some(_), _) => "raise the limit".to_owned(),
        (None, Some(_)) => "ask for fewer processors for each of them".to_owned(),
        (None, None) => "use --bind-to none".to_owned(),
    };
    let share = format!("or let processes share {unit}s: --bind-to {}:overload-allowed", kind_word(*kind));
    let _ = write!(text, "\n{fewer} {next}, {}", if limit.is_some() { "or use --bind-to none" } else { &share });
    text
}

fn too_large(asked: u16, map: &str, node: &str, most: u32, larger: Option<ObjectKind>) -> String {
    let next = match larger {
        Some(kind) => format!("use --map-by {}:PE={asked}, or PE={most}", kind_word(kind)),
        None if most > 0 => format!("no package has as many; use PE={most}, or leave out PE and use --bind-to none"),
        None => "use --bind-to none".to_owned(),
    };
    format!(
        "{asked} processors for each process are asked for (PE={asked}), but where node {node} is mapped by {map} there are at most {most} together; {next}"
    )
}

pub(crate) fn count(n: u32, unit: &str) -> String {
    match (n, unit) {
        (1, _) => format!("1 {unit}"),
        (_, "process") => format!("{n} processes"),
        _ => format!("{n} {unit}s"),
    }
}

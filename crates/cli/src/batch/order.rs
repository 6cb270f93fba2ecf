//! The order of a list: jobs that wait for others of it (`after`, `after_any`). Pure. A line names only earlier lines,
//! so that nothing waits in a circle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The jobs that a job waits for, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// They have to end well.
    pub ok: Vec<String>,
    /// They have to end.
    pub any: Vec<String>,
}

impl After {
    fn names(&self) -> impl Iterator<Item = &String> {
        self.ok.iter().chain(&self.any)
    }
}

/// The names of a list, and their tasks so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    all: BTreeMap<String, Named>,
}

/// The jobs with one name.
#[derive(Debug, Default)]
struct Named {
    /// Jobs that are not over.
    open: u64,
    /// True when one has not ended well.
    failed: bool,
    /// True when a later line waits for them.
    awaited: bool,
}

impl Names {
    /// Notes a line (spec L121).
    ///
    /// # Errors
    /// It waits for a name that no earlier line has, or has a name for which a line waits.
    pub(super) fn add(&mut self, id: Option<&str>, after: &After) -> Result<(), String> {
        if let Some(missing) = after.names().find(|name| !self.all.contains_key(*name)) {
            return Err(format!("after: no earlier line has the id {missing:?}"));
        }
        if let Some(id) = id.filter(|id| self.all.get(*id).is_some_and(|named| named.awaited)) {
            return Err(format!("id: an earlier line waits for {id:?}, and this line has the same id"));
        }
        for name in after.names() {
            self.all.entry(name.clone()).or_default().awaited = true;
        }
        if let Some(id) = id {
            self.all.entry(id.to_owned()).or_default().open += 1;
        }
        Ok(())
    }
}

/// Jobs that wait, and those that need not wait any more.
#[derive(Debug)]
pub(super) struct Order<T> {
    names: Names,
    next: u64,
    held: BTreeMap<u64, (After, T)>,
    /// The tasks that wait for a name.
    waiting: BTreeMap<String, BTreeSet<u64>>,
    ready: VecDeque<Ready<T>>,
}

/// A job that need not wait any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ready<T> {
    /// It is its turn.
    Run(T),
    /// The job with this name has not ended well, so that it never begins.
    Never(T, String),
}

impl<T> Order<T> {
    pub(super) fn new() -> Order<T> {
        Order {
            names: Names::default(),
            next: 0,
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            ready: VecDeque::new(),
        }
    }

    /// Notes a line, as [`Names::add`] does (spec L121).
    pub(super) fn add(&mut self, id: Option<&str>, after: &After) -> Result<(), String> {
        self.names.add(id, after)
    }

    /// Holds a job until it need not wait any more, which may be at once.
    pub(super) fn hold(&mut self, after: After, job: T) {
        let number = self.next;
        self.next += 1;
        for name in after.names() {
            self.waiting.entry(name.clone()).or_default().insert(number);
        }
        self.held.insert(number, (after, job));
        self.look_at(number);
    }

    /// Notes that a job with this name is over.
    pub(super) fn over(&mut self, id: Option<&str>, well: bool) {
        let Some(id) = id else { return };
        let Some(named) = self.names.all.get_mut(id) else { return };
        named.open = named.open.saturating_sub(1);
        named.failed |= !well;
        for number in self.waiting.get(id).cloned().unwrap_or_default() {
            self.look_at(number);
        }
    }

    fn look_at(&mut self, number: u64) {
        let Some((after, _)) = self.held.get(&number) else { return };
        let named = |name: &String| self.names.all.get(name);
        let failed = after.ok.iter().find(|name| named(name).is_some_and(|named| named.failed)).cloned();
        let is_open = after.names().any(|name| named(name).is_some_and(|named| named.open > 0));
        if failed.is_none() && is_open {
            return;
        }
        if let Some((after, job)) = self.held.remove(&number) {
            for name in after.names() {
                if let Some(waiting) = self.waiting.get_mut(name) {
                    waiting.remove(&number);
                }
            }
            self.ready.push_back(match failed {
                Some(name) => Ready::Never(job, name),
                None => Ready::Run(job),
            });
        }
    }

    /// Takes a job that need not wait any more.
    pub(super) fn next(&mut self) -> Option<Ready<T>> {
        self.ready.pop_front()
    }

    /// The number of jobs that wait, or whose turn it is.
    pub(super) fn len(&self) -> usize {
        self.held.len() + self.ready.len()
    }

    /// Takes all of them: none will begin.
    pub(super) fn give_up(&mut self) -> Vec<T> {
        self.waiting.clear();
        let ready = std::mem::take(&mut self.ready).into_iter().map(|ready| match ready {
            Ready::Run(job) | Ready::Never(job, _) => job,
        });
        ready.chain(std::mem::take(&mut self.held).into_values().map(|(_, job)| job)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(ok: &[&str], any: &[&str]) -> After {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        After { ok: names(ok), any: names(any) }
    }

    fn taken(order: &mut Order<u32>) -> Vec<Ready<u32>> {
        std::iter::from_fn(|| order.next()).collect()
    }

    /// Jobs wait for the ends of those that they name (spec L121).
    #[test]
    fn a_job_begins_when_those_are_over_that_it_waits_for() {
        let mut order = Order::new();
        for id in ["a", "b"] {
            order.add(Some(id), &After::default()).unwrap();
        }
        for (job, wait) in [(1, after(&["a", "b"], &[])), (2, after(&[], &["a"])), (3, after(&["a"], &["b"]))] {
            order.add(None, &wait).unwrap();
            order.hold(wait, job);
        }
        assert_eq!((taken(&mut order), order.len()), (vec![], 3));
        order.over(Some("a"), true);
        assert_eq!(taken(&mut order), [Ready::Run(2)]);
        order.over(Some("b"), false);
        assert_eq!(taken(&mut order), [Ready::Never(1, "b".to_owned()), Ready::Run(3)]);
        assert_eq!(order.len(), 0);
        // A task that is over holds nobody up.
        let wait = after(&["a"], &["b"]);
        order.add(Some("c"), &wait).unwrap();
        order.hold(wait, 4);
        assert_eq!(taken(&mut order), [Ready::Run(4)]);
    }

    #[test]
    fn several_jobs_of_a_name_are_waited_for_together() {
        let mut order = Order::new();
        order.add(Some("a"), &After::default()).unwrap();
        order.add(Some("a"), &After::default()).unwrap();
        order.hold(after(&["a"], &[]), 1);
        order.over(Some("a"), true);
        assert_eq!(taken(&mut order), []);
        order.over(Some("a"), true);
        assert_eq!(taken(&mut order), [Ready::Run(1)]);
    }

    #[test]
    fn nothing_waits_in_a_circle_or_for_what_is_not_there() {
        let mut names = Names::default();
        assert_eq!(names.add(Some("a"), &after(&["a"], &[])).unwrap_err(), "after: no earlier line has the id \"a\"");
        names.add(Some("a"), &After::default()).unwrap();
        names.add(Some("b"), &after(&["a"], &[])).unwrap();
        let error = names.add(Some("a"), &after(&["b"], &[])).unwrap_err();
        assert_eq!(error, "id: an earlier line waits for \"a\", and this line has the same id");
    }

    #[test]
    fn who_is_given_up_never_begins() {
        let mut order = Order::new();
        order.add(Some("a"), &After::default()).unwrap();
        order.hold(After::default(), 1);
        order.hold(after(&["a"], &[]), 2);
        assert_eq!(order.give_up(), [1, 2]);
        order.over(Some("a"), true);
        assert_eq!(taken(&mut order), []);
    }
}

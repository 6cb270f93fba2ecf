//! Pictures of a job map: the objects of each node, and the ranks bound to them. One model (`scene`) is drawn as an
//! image (`svg`), as a page with details on pointing (`html`), and as a line for each node (`lines`). The head calls
//! this for `--display map:svg=FILE` and for `pdvm`.
//!
//! Equal nodes of a large job are drawn once, so that every picture stays small. A picture depends on the map and the
//! nodes only: the same map gives the same picture.

mod html;
mod names;
mod scene;
mod svg;
mod text;
mod tree;

use ferrite_types::{JobMap, NodeRecord};

use scene::Scene;

/// The subject of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The job's namespace.
    pub job: &'a str,
    /// The program of each app.
    pub programs: &'a [String],
    /// The job's map.
    pub map: &'a JobMap,
    /// The pool.
    pub nodes: &'a [NodeRecord],
    /// True when no process is started; the picture says so.
    pub not_launched: bool,
}

/// Draws an image, readable on a light and on a dark background, of at most a few megabytes.
#[must_use]
pub fn svg(subject: &Subject<'_>) -> String {
    svg::document(&Scene::of(subject))
}

/// Makes a self-contained page: the image, details on pointing, and the ranks as a table.
#[must_use]
pub fn html(subject: &Subject<'_>) -> String {
    html::document(&Scene::of(subject))
}

/// Returns a line for each node, or for each kind of nodes when there are more than `most`: `n0  [0 1 . .] [2 3 . .]`
/// are two packages, and the ranks at their cores.
#[must_use]
pub fn lines(subject: &Subject<'_>, most: usize) -> Vec<String> {
    text::lines(&Scene::folded(subject, most))
}

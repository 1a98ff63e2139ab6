//! The commands that are installed together, for those that start others.

use std::io;
use std::path::{Path, PathBuf};

use crate::driver::components::{LAUNCHER, Language};

/// Why a command cannot start the others.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the variants and fields are")]
pub enum Error {
    #[error("cannot find {own} itself: {source}")]
    Own { own: &'static str, source: io::Error },
    #[error("{} is missing beside {own}: install both from one build", path.display())]
    Missing { own: &'static str, path: PathBuf },
}

/// The drivers and the launcher that lie beside this command.
#[derive(Clone, Debug)]
pub struct Tools {
    directory: PathBuf,
}

impl Tools {
    /// Finds them; `own` is the name of this command.
    ///
    /// # Errors
    /// If one is missing.
    pub fn find(own: &'static str) -> Result<Tools, Error> {
        let path = std::env::current_exe().map_err(|source| Error::Own { own, source })?;
        Tools::beside(&path, own)
    }

    fn beside(path: &Path, own: &'static str) -> Result<Tools, Error> {
        let tools = Tools { directory: path.parent().unwrap_or(Path::new("/")).to_owned() };
        let names = Language::ALL.map(Language::driver).into_iter().chain([LAUNCHER]);
        match names.map(|name| tools.path(name)).find(|path| !path.exists()) {
            Some(path) => Err(Error::Missing { own, path }),
            None => Ok(tools),
        }
    }

    /// A command.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The launcher.
    pub fn launcher(&self) -> PathBuf {
        self.path(LAUNCHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_command_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("dsm-sweep");
        for name in ["dsm-cc", "dsm-c++", "dsm-fc", "dsm-run"] {
            let message = Tools::beside(&own, "dsm-sweep").unwrap_err().to_string();
            let path = directory.path().join(name);
            let expected =
                format!("{} is missing beside dsm-sweep: install both from one build", path.display());
            assert_eq!(message, expected);
            std::fs::write(&path, "").unwrap();
        }
        assert_eq!(Tools::beside(&own, "dsm-sweep").unwrap().launcher(), directory.path().join("dsm-run"));
    }
}

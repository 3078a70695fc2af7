"""What sweeps, studies, audits and files of users stand on: documents, archives, tables, locks and folders."""

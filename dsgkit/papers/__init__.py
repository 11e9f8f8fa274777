"""The reproduced papers: judged claims, figures and tables, pages."""

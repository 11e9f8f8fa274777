"""The reproduced papers: claims judged by results, figures as printed, pages."""
